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

/** The library calls a catch-all `path`; a route that declares its name gets that one. */
function nameWildcards(document: OpenAPIObject): void {
  for (const [path, item] of Object.entries(document.paths)) {
    if (!path.endsWith(UNNAMED)) continue;
    const operations = Object.values(item as Record<string, { parameters?: PathParameter[] }>);
    const start = path.slice(0, -UNNAMED.length);
    const name = operations[0]?.parameters?.find(
      (one) => one.in === 'path' && one.name !== 'path' && !start.includes(`{${one.name}}`),
    )?.name;
    if (name === undefined) continue;
    for (const operation of operations) {
      operation.parameters = operation.parameters?.filter((one) => one.name !== 'path') ?? [];
    }
    document.paths[`${start}{${name}}`] = item;
    delete document.paths[path];
  }
}

const UNNAMED = '{path}';

interface PathParameter {
  readonly in: string;
  readonly name: string;
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
  nameWildcards(document);
  describeAccess(app, document);
  return document;
}
