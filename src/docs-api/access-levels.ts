/**
 * Puts the access level of every route into its description, with the answers of those it does not let
 * pass: read from the `@Access` metadata the guard reads, so that the document cannot say something
 * else. A route without a level is a mistake.
 */
import { ModulesContainer } from '@nestjs/core';
import type { INestApplication } from '@nestjs/common';
import type { OpenAPIObject } from '@nestjs/swagger';
import { ACCESS_METADATA, type AccessLevel } from '../auth/access.js';
import { declareAuthentication } from './authentication.js';

const METHODS = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options'] as const;

/** Operation id of a controller's method; also given to the scanner. */
export const operationIdOf = (controller: string, method: string): string =>
  `${controller.replace(/Controller$/, '')}.${method}`;

export function describeAccess(app: INestApplication, document: OpenAPIObject): void {
  const levels = accessLevels(app);
  for (const item of Object.values(document.paths)) {
    for (const method of METHODS) {
      const operation = item[method];
      if (operation === undefined) continue;
      // A method behind several paths is scanned as `method[0]`, `method[1]`, …
      const level = levels.get(operation.operationId?.replace(/\[\d+\]$/, '') ?? '');
      if (level === undefined) throw new Error(`${operation.operationId} declares no access level`);
      const text = operation.description ?? '';
      operation.description = `${text}${text === '' ? '' : '\n\n'}Access level: \`${level}\`.`;
      if (level !== 'public') declareAuthentication(operation);
    }
  }
}

function accessLevels(app: INestApplication): Map<string, AccessLevel> {
  const levels = new Map<string, AccessLevel>();
  for (const module of app.get(ModulesContainer).values()) {
    for (const { metatype } of module.controllers.values()) {
      if (typeof metatype !== 'function') continue;
      for (const [method, level] of levelsOf(metatype.prototype as object)) {
        levels.set(operationIdOf(metatype.name, method), level);
      }
    }
  }
  return levels;
}

function levelsOf(prototype: object): [string, AccessLevel][] {
  return Object.getOwnPropertyNames(prototype).flatMap((method): [string, AccessLevel][] => {
    const handler: unknown = Object.getOwnPropertyDescriptor(prototype, method)?.value;
    if (typeof handler !== 'function') return [];
    const level = Reflect.getMetadata(ACCESS_METADATA, handler) as AccessLevel | undefined;
    return level === undefined ? [] : [[method, level]];
  });
}
