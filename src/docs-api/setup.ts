/**
 * Swagger UI at `/docs` and the OpenAPI document at `/docs-json`. Call between the creation of the
 * application and its start. The document is built from the controllers' decorators when somebody asks
 * for it first; a broker nobody asks pays nothing.
 */
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { DocumentBuilder, SwaggerModule, type OpenAPIObject } from '@nestjs/swagger';
import { BROKER_VERSION } from '../common/version.js';
import { BEARER } from './authentication.js';
import { describeAccess, operationIdOf } from './access-levels.js';
import { secureRoutes } from './security-headers.js';
import { DESCRIPTION, TAGS } from './texts.js';

export const DOCS_PATH = '/docs';

export function setUpDocs(app: NestFastifyApplication): void {
  secureRoutes(app.getHttpAdapter().getInstance(), DOCS_PATH);
  SwaggerModule.setup(DOCS_PATH, app, () => buildDocument(app), {
    raw: ['json'],
    customSiteTitle: 'Queen: HTTP API',
    swaggerOptions: { displayRequestDuration: true, tryItOutEnabled: true, validatorUrl: null },
  });
}

export function buildDocument(app: NestFastifyApplication): OpenAPIObject {
  const builder = new DocumentBuilder()
    .setTitle('Queen')
    .setDescription(DESCRIPTION)
    .setVersion(BROKER_VERSION)
    .setLicense('Apache-2.0', 'https://www.apache.org/licenses/LICENSE-2.0')
    .addBearerAuth({ type: 'http', scheme: 'bearer', bearerFormat: 'JWT' }, BEARER)
    .addServer('/', 'The node that served this page; every node of a cluster takes every call.');
  for (const { name, description } of TAGS) builder.addTag(name, description);
  const document = SwaggerModule.createDocument(app, builder.build(), {
    operationIdFactory: operationIdOf,
    autoTagControllers: false,
  });
  describeAccess(app, document);
  return document;
}
