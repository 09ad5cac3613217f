/** What features may use to declare their routes in the API document. */
export { ErrorDto } from './error.dto.js';
export { ApiTenant } from './headers.js';
export { StateRefusalDto, stateShapes } from './state-refusal.js';
export {
  ApiAnswer,
  ApiEmptyAnswer,
  ApiRefusals,
  LOG_CODES,
  type Answer,
  type Examples,
  type Refusals,
} from './responses.js';
export { PAGE_HEADERS } from './security-headers.js';
export { ANY_JSON, COUNT, LEASE_TEXT, PARTITION_NUMBER, TIMESTAMP, UUID_TEXT } from './schemas.js';
