/**
 * The leader-only coordinators of a group besides the dispatcher: sweepers that propose. They run while
 * the group serves as leader, and a coordinator that is plugged in later starts at once if it does.
 */
import type { CoordinatorPort } from './ports.js';

export class CoordinatorSet {
  private readonly members: CoordinatorPort[] = [];
  private running = false;

  add(coordinator: CoordinatorPort): void {
    this.members.push(coordinator);
    if (this.running) coordinator.start();
  }

  start(): void {
    if (this.running) return;
    this.running = true;
    for (const member of this.members) member.start();
  }

  stop(): void {
    if (!this.running) return;
    this.running = false;
    for (const member of this.members) member.stop();
  }
}
