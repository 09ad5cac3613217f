/** The defaults of implicit queues, as commands carry them. */
import { IMPLICIT_QUEUE } from '../common/implicit-queue.js';
import type { ImplicitDefaults } from '../machine/commands/catalogue.js';

export function implicitDefaults(): ImplicitDefaults {
  return IMPLICIT_QUEUE;
}
