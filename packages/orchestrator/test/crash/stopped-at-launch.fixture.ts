/**
 * Loaded before a program (`node --import`), it stops the program by SIGTERM when a run is launched, and continues the
 * launch when the engine is stopping. Active while the file that `STOP_AT_LAUNCH` names exists.
 */
import { existsSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Engine } from '../../src/engine/engine.ts';

const stopping = Promise.withResolvers<void>();
let launching: Promise<unknown> = Promise.resolve();

Engine.prototype.launch = new Proxy(Reflect.get(Engine.prototype, 'launch'), {
  apply(launch, engine, given) {
    if (!existsSync(process.env['STOP_AT_LAUNCH'] ?? '')) return Reflect.apply(launch, engine, given);
    process.kill(process.pid, 'SIGTERM');
    const launched = stopping.promise.then(() => Reflect.apply(launch, engine, given));
    launching = launched.catch(() => undefined);
    return launched;
  },
});
Engine.prototype.stop = new Proxy(Reflect.get(Engine.prototype, 'stop'), {
  async apply(stop, engine, given) {
    const stopped = Reflect.apply(stop, engine, given);
    stopping.resolve();
    await launching;
    // The server gets enough turns of the event loop to answer.
    for (let turn = 0; turn < 100; turn += 1) await nextTurn();
    return stopped;
  },
});
