// The recorder runs stories. A story holds one library in one configuration and
// the calls to make; the recorder makes them and writes down, after each call,
// what the library answered and what stands in Redis.
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { Monitor, readable } from './monitor.mjs';

// SNAPSHOT reads the time and every key of the database at one instant.
const SNAPSHOT = `
local read = {
  string = function(key) return redis.call('GET', key) end,
  hash = function(key) return redis.call('HGETALL', key) end,
  zset = function(key) return redis.call('ZRANGE', key, 0, -1, 'WITHSCORES') end,
  list = function(key) return redis.call('LRANGE', key, 0, -1) end,
  set = function(key) return redis.call('SMEMBERS', key) end,
  stream = function(key) return redis.call('XRANGE', key, '-', '+') end,
}
local reply = {redis.call('TIME')}
for _, key in ipairs(redis.call('KEYS', '*')) do
  local type = redis.call('TYPE', key).ok
  reply[#reply + 1] = {key, type, redis.call('PTTL', key), read[type](key)}
end
return reply`;

// DUMP reads every key of the database in the form that RESTORE takes.
const DUMP = `
local reply = {}
for _, key in ipairs(redis.call('KEYS', '*')) do
  reply[#reply + 1] = {key, math.max(0, redis.call('PEXPIRETIME', key)), redis.call('DUMP', key)}
end
return reply`;

const pairs = (flat) => Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i], flat[2 * i + 1]]);
const fields = (flat) => Object.fromEntries(pairs(flat).map(([field, value]) => [field.toString(), readable(value)]));

const convert = {
  string: (value) => readable(value),
  hash: fields,
  zset: (flat) => pairs(flat).map(([member, score]) => [readable(member), Number(score)]),
  list: (items) => items.map(readable),
  set: (items) => items.map(readable),
  stream: (entries) => entries.map(([id, flat]) => [id.toString(), fields(flat)]),
};

// Items of a story's script.
export const take = (times = 1, cost = 1, given = {}) => ({ times, cost, ...given });
export const quiet = (times, cost = 1) => ({ times, cost, quiet: true }); // calls that are not written down
export const until = (ms) => ({ until: ms }); // wait until ms after the first call
export const pause = (ms) => ({ pause: ms });
export const phase = (windowMs, ms) => ({ windowMs, phase: ms }); // wait for ms into a window counted from 1970
export const peek = { peek: true }; // ask when the next call would get in
export const look = (name, act) => ({ name, act }); // another call of the library: act(limiter) returns its answer

// whole is the story most libraries share: idle, near, full, over, next window.
export const whole = (limit, windowMs) => [
  take(1), peek, take(limit - 2), peek, take(1), peek, take(3), peek,
  until(windowMs + 120), take(limit), peek, take(2), peek,
];
// minute is the same with a window that is not waited for.
export const minute = (limit) => [take(1), quiet(limit - 3), take(1), take(1), take(2)];

export class Recorder {
  #nextDatabase = 1;
  #marks = 0;

  static async open(port, folders) {
    const recorder = new Recorder();
    recorder.port = port;
    recorder.folders = folders;
    recorder.monitor = await Monitor.open(port);
    return recorder;
  }

  close() {
    this.monitor.close();
  }

  client(database, options = {}) {
    const client = new Redis({ port: this.port, host: '127.0.0.1', db: database, ...options });
    client.on('error', () => {});
    return client;
  }

  async #own(database) {
    const client = this.client(database);
    await client.ping();
    this.monitor.ignore(client.stream.localPort);
    return client;
  }

  // place returns what a story's open function gets: connections to one database.
  #place(database) {
    const made = [];
    const closers = [];
    return {
      port: this.port,
      database,
      client: (options) => {
        const client = this.client(database, options);
        made.push(client);
        return client;
      },
      onClose: (close) => closers.push(close),
      close: async () => {
        for (const close of closers.reverse()) await close();
        for (const client of made) client.disconnect();
      },
    };
  }

  async #snapshot(own) {
    const [time, ...rows] = await own.callBuffer('EVAL', SNAPSHOT, '0');
    const at_ms = Number(time[0]) * 1000 + Number(time[1]) / 1000;
    const keys = rows.map(([key, type, ttl, value]) => ({
      key: readable(key), type: type.toString(), ttl_ms: Number(ttl), value: convert[type.toString()](value),
    }));
    keys.sort((a, b) => (String(a.key) < String(b.key) ? -1 : 1));
    return { at_ms, keys };
  }

  async #commands(own, database) {
    const mark = `mark ${++this.#marks}`;
    const seen = this.monitor.seen(mark);
    await own.echo(mark);
    await seen;
    return this.monitor.take(database);
  }

  // #dump returns each key of a database as [key, expiry in Unix ms or 0, dump].
  async #dump(own) {
    const rows = await own.callBuffer('EVAL', DUMP, '0');
    return rows.map(([key, expiry, dump]) => [key, Number(expiry), dump]);
  }

  // #poll copies the dumped keys into a second database again and again and asks
  // the library there, until it lets the call in. The copies keep their expiry.
  async #poll(story, dumps, step) {
    const from = Date.now();
    const database = this.#nextDatabase++;
    const scratch = await this.#own(database);
    const place = this.#place(database);
    const limiter = await story.open(place);
    let denied = from;
    let found = null;
    const deadline = Date.now() + (story.patience ?? 20000);
    while (Date.now() < deadline && found === null) {
      await scratch.flushdb();
      for (const [key, expiry, dump] of dumps) {
        if (expiry && expiry <= Date.now()) continue; // expired since
        await scratch.restore(key, expiry, dump, ...(expiry ? ['ABSTTL'] : []));
      }
      const before = Date.now();
      const { allowed } = await story.call(limiter, 1, {});
      if (allowed) found = Math.max(from, before);
      else {
        denied = Date.now();
        await sleep(story.interval ?? 6);
      }
    }
    await place.close();
    await scratch.flushdb();
    scratch.disconnect();
    if (found === null) return null;
    const immediate = denied === from;
    return {
      found: immediate ? step.at_ms : found,
      resolution_ms: immediate ? 1 : Math.max(1, Math.ceil(found - denied)),
      how: 'polled a copy of the keys until admitted',
    };
  }

  // record runs one story and writes its fixture. A story's keep function chooses
  // the keys that belong to the limiter where a program has others besides.
  async record(story) {
    const database = this.#nextDatabase++;
    this.monitor.watch(database);
    const own = await this.#own(database);
    const place = this.#place(database);
    const limiter = await story.open(place);
    const steps = [];
    const peeks = [];
    let first = 0;

    const keep = story.keep ?? (() => true);
    const note = async (call, cost, answer) => {
      const snapshot = await this.#snapshot(own);
      const { at_ms } = snapshot;
      const keys = snapshot.keys.filter(({ key }) => keep(key));
      const commands = (await this.#commands(own, database)).filter((command) => !story.keep || command.some(keep));
      steps.push({ at_ms, call, cost, commands, answer, keys });
    };
    await this.#commands(own, database);
    for (const item of story.script) {
      if (item.until !== undefined) await sleep(Math.max(0, first + item.until - Date.now()));
      else if (item.pause) await sleep(item.pause);
      else if (item.phase !== undefined) await sleep((((item.phase - Date.now()) % item.windowMs) + item.windowMs) % item.windowMs);
      else if (item.peek) {
        const step = steps.at(-1);
        const after_step = steps.length - 1;
        const dumps = await this.#dump(own);
        peeks.push(this.#poll(story, dumps, step).then((peek) => peek && {
          after_step, at_ms: step.at_ms, next_ms: Math.max(0, Math.round((peek.found - step.at_ms) * 1000) / 1000), how: peek.how, resolution_ms: peek.resolution_ms,
        }));
      } else if (item.act) {
        first ||= Date.now();
        await note(item.name, 0, await item.act(limiter));
      } else {
        for (let i = 0; i < item.times; i++) {
          first ||= Date.now();
          const answer = await story.call(limiter, item.cost, item);
          if (!item.quiet) await note(story.name?.(item.cost, item) ?? `request, cost ${item.cost}`, item.cost, answer);
          if (story.gap && !item.quiet) await sleep(story.gap);
        }
      }
    }
    const found = (await Promise.all(peeks)).filter(Boolean);
    await place.close();
    own.disconnect();
    this.#write(story, steps, found);
  }

  #write(story, steps, peeks) {
    const { library, version, client, scenario, algorithm, configured, in_redis, denied, notes = [], unrelated } = story;
    const head = { library, version, client, source: 'real', scenario, algorithm, configured: { limit: null, window_ms: null, burst: null, cost: 1, ...configured }, in_redis, denied };
    const lines = (rows) => rows.map((row) => `    ${JSON.stringify(row)}`).join(',\n');
    const text = JSON.stringify(head, null, 2).replace(/\n}$/, ',\n')
      + `  "steps": [\n${lines(steps)}\n  ],\n  "peeks": [${peeks.length ? `\n${lines(peeks)}\n  ` : ''}],\n  "notes": ${JSON.stringify(notes)}\n}\n`;
    const folder = path.join(unrelated ? this.folders.unrelated : this.folders.fixtures, library);
    fs.mkdirSync(folder, { recursive: true });
    fs.writeFileSync(path.join(folder, `${scenario}.json`), text);
  }
}
