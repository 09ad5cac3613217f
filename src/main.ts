/** Entry of the broker process; started through bin/queen.cjs. */
import 'reflect-metadata';
import { runProcess } from './lifecycle/process.js';

await runProcess();
