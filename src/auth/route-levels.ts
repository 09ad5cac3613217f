/**
 * Carries the level of every declared route from its decorator into the router's configuration, where
 * the hook finds it before Nest looks at the request. Call it before the application is initialised.
 */
import type { INestApplication } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { RouteConfig } from '@nestjs/platform-fastify';
import { FASTIFY_ROUTE_CONFIG_METADATA } from '@nestjs/platform-fastify/constants.js';
import { ACCESS_METADATA, type AccessLevel } from './access.js';

export function publishAccessLevels(app: INestApplication): void {
  for (const module of app.get(ModulesContainer).values()) {
    for (const { metatype } of module.controllers.values()) {
      if (typeof metatype === 'function') publishLevelsOf(metatype.prototype as object);
    }
  }
}

function publishLevelsOf(prototype: object): void {
  for (const name of Object.getOwnPropertyNames(prototype)) {
    const descriptor = Object.getOwnPropertyDescriptor(prototype, name);
    const handler: unknown = descriptor?.value;
    if (descriptor === undefined || typeof handler !== 'function') continue;
    const access = Reflect.getMetadata(ACCESS_METADATA, handler) as AccessLevel | undefined;
    if (access === undefined) continue;
    const declared = Reflect.getMetadata(FASTIFY_ROUTE_CONFIG_METADATA, handler) as object | null;
    RouteConfig({ ...declared, access })(prototype, name, descriptor);
  }
}
