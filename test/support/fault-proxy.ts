/**
 * A network that fails on order, for tests with real sockets: a TCP proxy on loopback whose two
 * directions are cut, delayed, throttled or paused one by one, and a mesh of such proxies between the
 * members of a cluster. TCP keeps its promise: a connection that lost bytes never delivers later ones.
 */
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** Towards the target of the proxy, or back to whoever dialled. */
export type Direction = 'forth' | 'back';

export interface Fault {
  /**
   * blackhole: bytes vanish and the sender notices nothing; connections that lost bytes are reset by
   * `heal`. pause: bytes wait, as they do for a stopped process. reset: connections break, new ones
   * break at once.
   */
  readonly cut: 'none' | 'blackhole' | 'pause' | 'reset';
  readonly delayMs: number;
  readonly bytesPerSecond: number;
}

export const HEALTHY: Fault = { cut: 'none', delayMs: 0, bytesPerSecond: Infinity };

export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

/** Bytes in flight inside one direction of one connection before its sender is held up. */
const WINDOW_BYTES = 256 * 1024;
const SLICE_BYTES = 16 * 1024;

/** One direction of one connection. */
class Pipe {
  private queue: { readonly chunk: Buffer; readonly dueMs: number }[] = [];
  private queuedBytes = 0;
  private timer: NodeJS.Timeout | undefined;
  private freeAtMs = 0;
  private blocked = false;
  private ended = false;
  lostBytes = false;

  constructor(
    private readonly from: Socket,
    private readonly to: Socket,
    private fault: Fault,
  ) {
    from.on('data', (chunk) => this.take(chunk));
    from.on('end', () => {
      this.ended = true;
      this.pump();
    });
    to.on('drain', () => {
      this.blocked = false;
      this.pump();
    });
    this.apply(fault);
  }

  apply(fault: Fault): void {
    this.fault = fault;
    if (fault.cut === 'pause') this.from.pause();
    else this.resume();
    this.pump();
  }

  stop(): void {
    clearTimeout(this.timer);
    this.queue = [];
  }

  private take(chunk: Buffer): void {
    if (this.fault.cut === 'blackhole' || this.lostBytes) {
      this.lostBytes = true;
      return;
    }
    const dueMs = performance.now() + this.fault.delayMs;
    for (let at = 0; at < chunk.length; at += SLICE_BYTES) {
      this.queue.push({ chunk: chunk.subarray(at, at + SLICE_BYTES), dueMs });
    }
    this.queuedBytes += chunk.length;
    if (this.queuedBytes > WINDOW_BYTES) this.from.pause();
    this.pump();
  }

  private pump(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const { cut, bytesPerSecond } = this.fault;
    if (cut === 'pause') return;
    if (cut === 'blackhole' && this.queue.length > 0) {
      this.lostBytes = true;
      this.queue = [];
      this.queuedBytes = 0;
    }
    for (let next = this.queue[0]; next !== undefined && !this.blocked; next = this.queue[0]) {
      const nowMs = performance.now();
      const waitMs = Math.max(next.dueMs, this.freeAtMs) - nowMs;
      if (waitMs > 0) {
        this.timer = setTimeout(() => this.pump(), waitMs);
        return;
      }
      this.queue.shift();
      this.queuedBytes -= next.chunk.length;
      this.freeAtMs =
        Math.max(this.freeAtMs, nowMs - 5) + (next.chunk.length * 1000) / bytesPerSecond;
      this.blocked = !this.to.write(next.chunk);
    }
    this.resume();
    if (this.ended && this.queue.length === 0 && cut === 'none') this.to.end();
  }

  private resume(): void {
    if (this.fault.cut !== 'pause' && this.queuedBytes <= WINDOW_BYTES) this.from.resume();
  }
}

interface Connection {
  readonly sockets: readonly Socket[];
  readonly pipes: Readonly<Record<Direction, Pipe>>;
}

export class FaultProxy {
  private readonly connections = new Set<Connection>();
  private readonly faults: Record<Direction, Fault> = { forth: HEALTHY, back: HEALTHY };

  private constructor(
    private readonly server: Server,
    private target: Endpoint,
  ) {
    server.on('connection', (socket) => this.accept(socket));
  }

  static async start(target: Endpoint): Promise<FaultProxy> {
    // Half-open, so that an end travels like every other byte.
    const server = createServer({ allowHalfOpen: true });
    const proxy = new FaultProxy(server, target);
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(0, '127.0.0.1', resolve);
    });
    return proxy;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get openConnections(): number {
    return this.connections.size;
  }

  /** Later connections go there. */
  retarget(target: Endpoint): void {
    this.target = target;
  }

  /** What is not named stays as it is. */
  set(direction: Direction | 'both', change: Partial<Fault>): void {
    const directions: readonly Direction[] = direction === 'both' ? ['forth', 'back'] : [direction];
    for (const each of directions) {
      this.faults[each] = { ...this.faults[each], ...change };
      for (const { pipes } of this.connections) pipes[each].apply(this.faults[each]);
    }
    if (this.isReset) this.resetAll();
  }

  heal(): void {
    for (const connection of this.connections) {
      const { forth, back } = connection.pipes;
      if (forth.lostBytes || back.lostBytes) this.reset(connection);
    }
    this.set('both', HEALTHY);
  }

  /** Breaks what stands; new connections are welcome. */
  resetAll(): void {
    for (const connection of [...this.connections]) this.reset(connection);
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()));
    this.resetAll();
    await closed;
  }

  private get isReset(): boolean {
    return this.faults.forth.cut === 'reset' || this.faults.back.cut === 'reset';
  }

  private accept(client: Socket): void {
    if (this.isReset) {
      client.on('error', () => client.destroy());
      client.resetAndDestroy();
      return;
    }
    const upstream = connect({ ...this.target, allowHalfOpen: true });
    const sockets = [client, upstream];
    const connection: Connection = {
      sockets,
      pipes: {
        forth: new Pipe(client, upstream, this.faults.forth),
        back: new Pipe(upstream, client, this.faults.back),
      },
    };
    this.connections.add(connection);
    for (const socket of sockets) {
      socket.setNoDelay(true);
      socket.on('error', () => this.reset(connection));
      socket.on('close', () => {
        if (sockets.every(({ destroyed }) => destroyed)) this.forget(connection);
        // The other side's last bytes may still be under way; an end was passed on by the pipe.
        else if (socket.readableAborted || !socket.readableEnded) this.reset(connection);
      });
    }
  }

  private forget(connection: Connection): void {
    this.connections.delete(connection);
    connection.pipes.forth.stop();
    connection.pipes.back.stop();
  }

  private reset(connection: Connection): void {
    this.forget(connection);
    for (const socket of connection.sockets) {
      if (socket.destroyed) continue;
      // A socket that is shutting down cannot be reset, and Node would then never close it.
      if (socket.writableEnded) socket.destroy();
      else socket.resetAndDestroy();
    }
  }
}

/**
 * One proxy per ordered pair of members: `address(a, b)` is where a dials b. A fault is named by the
 * way the bytes travel, whoever dialled the connection.
 */
export class FaultMesh {
  private constructor(private readonly proxies: ReadonlyMap<string, FaultProxy>) {}

  static async start(members: ReadonlyMap<number, Endpoint>): Promise<FaultMesh> {
    const proxies = new Map<string, FaultProxy>();
    for (const from of members.keys()) {
      for (const [to, target] of members) {
        if (from !== to) proxies.set(`${from}>${to}`, await FaultProxy.start(target));
      }
    }
    return new FaultMesh(proxies);
  }

  address(from: number, to: number): Endpoint {
    return { host: '127.0.0.1', port: this.proxy(from, to).port };
  }

  /** For all bytes that travel from one member to another. */
  set(from: number, to: number, change: Partial<Fault>): void {
    this.proxy(from, to).set('forth', change);
    this.proxy(to, from).set('back', change);
  }

  /** Both ways between one member and all others. */
  isolate(member: number, change: Partial<Fault> = { cut: 'blackhole' }): void {
    for (const [pair, proxy] of this.proxies) {
      if (pair.split('>').includes(String(member))) proxy.set('both', change);
    }
  }

  heal(): void {
    for (const proxy of this.proxies.values()) proxy.heal();
  }

  async close(): Promise<void> {
    await Promise.all([...this.proxies.values()].map((proxy) => proxy.close()));
  }

  private proxy(from: number, to: number): FaultProxy {
    const proxy = this.proxies.get(`${from}>${to}`);
    if (proxy === undefined) throw new Error(`no proxy from ${from} to ${to}`);
    return proxy;
  }
}
