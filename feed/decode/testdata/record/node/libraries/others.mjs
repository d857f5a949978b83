// Libraries with a layout of their own.
import { createRequire } from 'node:module';
import Bottleneck from 'bottleneck';
import { create } from 'redis-bucket';
import { RateLimit } from 'ratelimit.js';
import { RedisStore, getGraphQLRateLimiter } from 'graphql-rate-limit';
import { answer, version } from '../answers.mjs';
import { peek, take, until, whole } from '../recorder.mjs';

const OldRedis = createRequire(createRequire(import.meta.url).resolve('bull'))('ioredis');
// old connects with ioredis 5, whose commands still take callbacks.
const old = (place) => {
  const client = new OldRedis({ host: '127.0.0.1', port: place.port, db: place.database });
  place.onClose(() => client.disconnect());
  return client;
};

const bottleneck = {
  library: 'bottleneck', version: version('bottleneck'), client: 'ioredis 5', algorithm: 'fixed-window', denied: 'free', in_redis: ['limit', 'window'],
  call: async (limiter, cost) => {
    const allowed = await limiter.check(cost);
    if (allowed) await limiter.schedule({ weight: cost }, async () => {});
    return answer({ allowed, remaining: await limiter.currentReservoir(), raw: { check: allowed, counts: await limiter.clusterQueued() } });
  },
  name: (cost) => `check(${cost}), schedule(${cost})`,
};
const openBottleneck = (options) => async (place) => {
  const limiter = new Bottleneck({ id: 'search-api', datastore: 'ioredis', clearDatastore: false, Redis: OldRedis, clientOptions: { host: '127.0.0.1', port: place.port, db: place.database }, ...options });
  await limiter.ready();
  place.onClose(() => limiter.disconnect(false));
  return limiter;
};

const bucket = {
  library: 'redis-bucket', version: version('redis-bucket'), client: 'ioredis 5', algorithm: 'leaky-bucket', denied: 'partly', in_redis: [],
  call: async (limiter, cost) => {
    const raw = await limiter('alice', cost);
    return answer({ allowed: raw.allow, remaining: raw.allow ? raw.free : 0, retry_after_ms: raw.allow ? 0 : raw.wait * 1000, raw });
  },
};
const openBucket = (capacity) => async (place) => create({ client: old(place), prefix: 'rate/', capacity });

const blocks = {
  library: 'ratelimit-js', version: version('ratelimit.js'), client: 'ioredis 5', algorithm: 'sliding-window', denied: 'free', in_redis: ['window'],
  call: (limiter, cost) => new Promise((resolve, reject) => limiter.incr('203.0.113.7', cost, (error, limited) => (error ? reject(error) : resolve(answer({ allowed: !limited, raw: limited }))))),
  name: (cost) => `incr('203.0.113.7', ${cost})`,
};
const openBlocks = (rules) => async (place) => new RateLimit(old(place), rules, { prefix: 'ratelimit' });

const graphql = {
  library: 'graphql-rate-limit', version: version('graphql-rate-limit'), client: 'ioredis 5', algorithm: 'sliding-log', denied: 'charged', in_redis: ['window'],
  call: async (limited) => {
    const raw = await limited({ parent: {}, args: {}, context: { id: 'alice' }, info: { fieldName: 'orders' } }, { max: 3, window: '3s' });
    return answer({ allowed: raw === undefined, raw: raw ?? null });
  },
};

const openGraphQL = async (place) => {
  const redis = old(place);
  // The store passes the arguments of SET as one list, as node-redis 3 took them.
  const client = { set: (args, done) => redis.set(...args, done), get: (key, done) => redis.get(key, done) };
  return getGraphQLRateLimiter({ identifyContext: (context) => context.id, store: new RedisStore(client) });
};

export default [
  { ...bottleneck, scenario: 'reservoir', configured: { limit: 5, window_ms: 4000 }, open: openBottleneck({ reservoir: 5, reservoirRefreshAmount: 5, reservoirRefreshInterval: 4000 }), script: [take(3), take(1, 2), take(2), until(4600), take(1), take(2, 2)], notes: ['b_<id>_settings is a hash with everything: reservoir is what is left, reservoirRefreshAmount and -Interval the limit and the window, lastReservoirRefresh in ms of the server', 'the refresh interval must be a multiple of 250 ms; a heartbeat of each client refreshes'] },
  { ...bottleneck, scenario: 'concurrency', algorithm: 'concurrency', configured: { limit: 3 }, in_redis: ['limit'], open: openBottleneck({ maxConcurrent: 3, minTime: 200 }), script: [take(2), until(900), take(1)], notes: ['minTime: nextRequest in the hash is the earliest start of the next job', 'running is the weight at work'] },
  { ...bucket, scenario: 'basic', configured: { limit: 5, window_ms: 4000, burst: 5 }, open: openBucket({ window: 4, min: 4, max: 9 }), script: [take(3), peek, take(2), peek, take(2), peek, until(2500), take(3), peek], notes: ['MessagePack of time, denials, levels; flow 1 a second, burst 5 in this recording', 'a denied call is counted in the second field and lengthens the answered wait, the levels stay'] },
  { ...blocks, scenario: 'basic', configured: { limit: 4, window_ms: 4000 }, open: openBlocks([{ interval: 4, limit: 4, precision: 1 }]), script: [take(2), until(1200), take(2), peek, take(2), peek, until(4300), take(2), peek], notes: ['hash: <interval>:<precision>: the sum, <interval>:<precision>:<block> one block, <interval>:<precision>:o the oldest block; seconds of the client'] },
  { ...blocks, scenario: 'two-rules', configured: { limit: 3, window_ms: 2000 }, open: openBlocks([{ interval: 2, limit: 3, precision: 1 }, { interval: 60, limit: 5, precision: 10 }]), script: [take(4), until(2600), take(3)], notes: ['two rules in one hash: 3 in 2 s, 5 in 60 s'] },
  { ...graphql, scenario: 'basic', configured: { limit: 3, window_ms: 3000 }, open: openGraphQL, script: whole(3, 3000), notes: ['a JSON list of Unix ms of the client, newest last; EX ceil(window)', 'read, add, write: not atomic'] },
];
