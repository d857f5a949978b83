// hono-rate-limiter: the store of the package, the older separate store, and unstorage.
import { Hono } from 'hono';
import { RedisStore, UnstorageStore, rateLimiter } from 'hono-rate-limiter';
import { RedisStore as Separate } from '@hono-rate-limiter/redis';
import { createStorage } from 'unstorage';
import redisDriver from 'unstorage/drivers/redis';
import { fromHTTP, ioredis, version } from '../answers.mjs';
import { minute, peek, take, until, whole } from '../recorder.mjs';

const names = { limit: 'ratelimit-limit', remaining: 'ratelimit-remaining', reset: 'ratelimit-reset' };
// shaped gives an ioredis connection the methods that the store calls.
const shaped = (redis) => ({
  scriptLoad: (script) => redis.script('LOAD', script),
  evalsha: (sha, keys, args) => redis.evalsha(sha, keys.length, ...keys, ...args),
  decr: (key) => redis.decr(key),
  del: (key) => redis.del(key),
});
const open = (limit, windowMs, store, options = {}) => async (place) => {
  const app = new Hono();
  app.use(rateLimiter({ windowMs, limit, keyGenerator: () => '203.0.113.7', store: store(place), ...options }));
  app.get('/', (c) => c.text('ok'));
  return app;
};
const call = async (app) => fromHTTP(await app.request('/'), names);
const own = (given = {}) => (place) => new RedisStore({ client: shaped(place.client()), ...given });
const separate = (given = {}) => (place) => new Separate({ client: shaped(place.client()), ...given });

const base = {
  library: 'hono-rate-limiter', version: version('hono-rate-limiter'), client: `${ioredis} through an adapter`,
  algorithm: 'fixed-window', in_redis: ['window'], denied: 'charged', call,
};
const rounding = 'RateLimit-Reset and Retry-After are ceil(TTL / 1 s)';
export default [
  { ...base, scenario: 'basic', configured: { limit: 5, window_ms: 4000 }, open: open(5, 4000, own()), script: whole(5, 4000), notes: [rounding] },
  { ...base, scenario: 'minute', configured: { limit: 100, window_ms: 60000 }, open: open(100, 60000, own()), script: minute(100) },
  { ...base, scenario: 'prefix', configured: { limit: 3, window_ms: 2000 }, open: open(3, 2000, own({ prefix: 'edge:' })), script: whole(3, 2000) },
  { ...base, scenario: 'reset-on-change', configured: { limit: 3, window_ms: 1500 }, open: open(3, 1500, own({ resetExpiryOnChange: true })), script: [take(1), until(1000), take(2), peek, take(1), peek, until(2300), take(1), peek, until(4000), take(1)], notes: ['every call, a denied one too, starts the window again'] },
  { ...base, scenario: 'skip-successful', configured: { limit: 3, window_ms: 2000 }, open: open(3, 2000, own(), { skipSuccessfulRequests: true }), script: [take(4)], notes: ['a successful request is given back: the key stays at 0 with its TTL'] },
  { ...base, library: 'hono-rate-limiter-redis', version: `${version('@hono-rate-limiter/redis')} (hono-rate-limiter ${version('hono-rate-limiter')})`, scenario: 'basic', configured: { limit: 3, window_ms: 2000 }, open: open(3, 2000, separate()), script: whole(3, 2000), notes: ['same keys and commands as the store of the main package'] },
  {
    ...base, scenario: 'unstorage', client: `unstorage ${version('unstorage')}, ${ioredis}`, configured: { limit: 3, window_ms: 2000 }, in_redis: [],
    open: open(3, 2000, (place) => {
      const storage = createStorage({ driver: redisDriver({ base: 'unstorage', url: `redis://127.0.0.1:${place.port}/${place.database}` }) });
      place.onClose(() => storage.dispose());
      return new UnstorageStore({ storage });
    }),
    script: [take(1), take(2), take(1), peek, until(2150), take(1)], notes: ['JSON {totalHits, resetTime} without TTL: the key lives on after its window; read, add, write is not atomic'],
  },
];
