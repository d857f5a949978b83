// express-rate-limit with rate-limit-redis, and express-slow-down on the same store.
import express from 'express';
import http from 'node:http';
import { rateLimit } from 'express-rate-limit';
import { slowDown } from 'express-slow-down';
import { RedisStore } from 'rate-limit-redis';
import { answer, fromHTTP, ioredis, listen, version } from '../answers.mjs';
import { look, minute, pause, peek, take, until, whole } from '../recorder.mjs';

const names = { limit: 'ratelimit-limit', remaining: 'ratelimit-remaining', reset: 'ratelimit-reset' };

// open serves one route behind the middleware. options go to it as they are,
// store to the Redis store; delay holds the answer of the route back.
const open = (limit, windowMs, { options = {}, store = {}, delay = 0, trust = false } = {}) => async (place) => {
  const redis = place.client();
  const shared = new RedisStore({ sendCommand: (...args) => redis.call(...args), ...store });
  const app = express();
  if (trust) app.set('trust proxy', 1);
  app.use(rateLimit({
    windowMs, limit, standardHeaders: 'draft-6', legacyHeaders: false, store: shared,
    ...(trust ? {} : { keyGenerator: () => '203.0.113.7' }), ...options,
  }));
  app.get('/', (request, response) => setTimeout(() => response.send('ok'), delay));
  app.get('/fail', (request, response) => response.status(418).send('no'));
  const address = await listen(http.createServer(app), place);
  return { address, store: shared };
};
const call = (path = '', headers = {}) => async ({ address }) => {
  const response = await fetch(address + path, { headers: { ...headers, connection: 'close' } });
  await response.text();
  const said = fromHTTP(response, names);
  return { ...said, allowed: response.status !== 429 };
};

const base = {
  library: 'rate-limit-redis', version: `${version('rate-limit-redis')} (express-rate-limit ${version('express-rate-limit')})`, client: ioredis,
  algorithm: 'fixed-window', in_redis: ['window'], denied: 'charged', call: call(),
};
const rounding = 'RateLimit-Reset and Retry-After are ceil(TTL / 1 s); the window is a TTL in ms, SET .. PX on the first call, never extended';

const later = look('no request, 100 ms later', async () => answer({ raw: null }));

const slow = {
  library: 'express-slow-down', version: `${version('express-slow-down')} (rate-limit-redis ${version('rate-limit-redis')})`, client: ioredis,
  scenario: 'basic', algorithm: 'fixed-window', configured: { limit: 3, window_ms: 3000 }, in_redis: ['window'], denied: 'charged',
  notes: ['never denies: calls above delayAfter wait (used - delayAfter) * delayMs and pass', 'same keys as rate-limit-redis; they cannot be told apart'],
  open: async (place) => {
    const redis = place.client();
    const app = express();
    app.use(slowDown({ windowMs: 3000, delayAfter: 3, delayMs: (used) => (used - 3) * 50, keyGenerator: () => '203.0.113.7', store: new RedisStore({ sendCommand: (...args) => redis.call(...args) }) }));
    app.get('/', (request, response) => response.json(request.slowDown));
    return { address: await listen(http.createServer(app), place) };
  },
  call: async ({ address }) => {
    const raw = await (await fetch(address, { headers: { connection: 'close' } })).json();
    return answer({ allowed: true, limit: raw.limit, remaining: raw.remaining, reset_after_ms: new Date(raw.resetTime) - Date.now(), raw });
  },
  script: [take(6), until(3150), take(2)],
};

export default [
  { ...base, scenario: 'basic', configured: { limit: 5, window_ms: 4000 }, open: open(5, 4000), script: whole(5, 4000), notes: [rounding] },
  { ...base, scenario: 'minute', configured: { limit: 100, window_ms: 60000 }, open: open(100, 60000), script: minute(100), notes: [rounding] },
  { ...base, scenario: 'prefix', configured: { limit: 3, window_ms: 2500 }, open: open(3, 2500, { store: { prefix: 'shop:login:' } }), script: whole(3, 2500) },
  {
    ...base, scenario: 'ipv6', configured: { limit: 3, window_ms: 2500 }, open: open(3, 2500, { trust: true }), call: call('', { 'x-forwarded-for': '2001:db8:1:1ff::7' }),
    script: [take(4)], notes: ['the default key of an IPv6 client is its /56 network'],
  },
  {
    ...base, scenario: 'skip-failed', configured: { limit: 3, window_ms: 3000 }, open: open(3, 3000, { options: { skipFailedRequests: true } }), call: call('fail'),
    script: [take(2), look('request that succeeds', call()), take(1), look('request that succeeds', call()), look('request that succeeds', call()), look('request that succeeds', call()), pause(50), take(1)],
    notes: ['a failed request is counted and given back by DECR after the response; a denied one (429) is failed, too, and given back'],
  },
  {
    ...base, scenario: 'given-back-late', configured: { limit: 3, window_ms: 1000 }, open: open(3, 1000, { options: { skipSuccessfulRequests: true }, delay: 1300 }),
    script: [take(1), pause(100), later, look("store.decrement('203.0.113.7')", async ({ store }) => {
      await store.decrement('203.0.113.7');
      return answer({ raw: null });
    }), take(1)],
    notes: ['a request that ends after its window is not given back', 'the store itself gives back at any time: DECR creates the key anew, value -1 without TTL (what older middleware did); the next call starts a window over it'],
  },
  {
    ...base, scenario: 'reset-key', configured: { limit: 3, window_ms: 3000 }, open: open(3, 3000),
    script: [take(4), look("resetKey('203.0.113.7')", async ({ store }) => {
      await store.resetKey('203.0.113.7');
      return answer({ raw: null });
    }), take(2)],
  },
  slow,
];
