/** What the rest of the broker may use of the coordinators: their module, and what they counted. */
export { CoordinatorsModule } from './coordinators.module.js';
export { SWEEP_PHASES, SweepFigures } from './sweep-figures.js';
