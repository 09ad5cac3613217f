/**
 * A filesystem of its own for one node's data directory: a tmpfs in a mount namespace that a sleeping
 * process holds. The node enters it; from outside it is filled and emptied. Needs user namespaces.
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { cpSync } from 'node:fs';
import type { ClusterProcesses } from '../../support/cluster-processes.js';

/** False where the kernel, or a container, does not allow it. */
export const CAN_MOUNT =
  spawnSync('unshare', ['-rm', 'sh', '-c', 'mount -t tmpfs tmpfs /mnt']).status === 0;
const BALLAST = 'ballast';
const MIB = 1024 * 1024;

export class SmallDisk {
  private constructor(
    private readonly holder: ChildProcess,
    private readonly directory: string,
    private readonly prefix: readonly string[],
  ) {}

  /** Of a node that does not run: its directory moves onto the new filesystem. */
  static async under(cluster: ClusterProcesses, id: number, sizeMib: number): Promise<SmallDisk> {
    const directory = cluster.directoryOf(id);
    const beside = `${directory}-copy`;
    cpSync(directory, beside, { recursive: true });
    const script =
      `mount -t tmpfs -o size=${sizeMib}m tmpfs "$0" && cp -a "$1/." "$0/" && ` +
      'echo ready && exec sleep 3600';
    const holder = spawn('unshare', ['-rm', 'sh', '-c', script, directory, beside], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await new Promise<void>((resolve, reject) => {
      holder.stdout?.once('data', () => resolve());
      holder.once('exit', () => reject(new Error('the filesystem could not be mounted')));
    });
    const enter = ['--preserve-credentials', '-U', '-m', '-t', String(holder.pid)];
    const disk = new SmallDisk(holder, directory, ['nsenter', ...enter]);
    cluster.node(id).setPrefix(disk.prefix);
    return disk;
  }

  /** Until so much of it is used; 100 leaves not one byte. */
  fill(percent: number): void {
    const { total, used } = this.usage();
    const missing = Math.ceil((total * percent) / 100) - used;
    const count = percent >= 100 ? Math.ceil(total / MIB) : Math.ceil(missing / MIB);
    // At 100 dd ends with an error: that is what is asked for.
    this.run('dd', ['if=/dev/zero', `of=${this.directory}/${BALLAST}`, 'bs=1M', `count=${count}`]);
  }

  empty(): void {
    this.run('rm', ['-f', `${this.directory}/${BALLAST}`]);
  }

  /** Bytes. */
  usage(): { readonly total: number; readonly used: number } {
    const text = this.run('df', ['-B1', '--output=size,used', this.directory]);
    const [total = 0, used = 0] = (text.split('\n')[1] ?? '').trim().split(/\s+/).map(Number);
    return { total, used };
  }

  remove(): void {
    this.holder.kill('SIGKILL');
  }

  private run(command: string, args: readonly string[]): string {
    const [nsenter = '', ...enter] = this.prefix;
    const { stdout } = spawnSync(nsenter, [...enter, command, ...args], { encoding: 'utf8' });
    return stdout;
  }
}
