// Middleware of Express and Koa that keeps JSON or counters.
import brute from 'express-brute';
import BruteStore from 'express-brute-redis';
import limiter from 'express-limiter';
import koa2 from 'koa2-ratelimit';
import { hitlimit } from '@joint-ops/hitlimit';
import { redisStore } from '@joint-ops/hitlimit/stores/redis';
import { answer, ioredis, version } from '../answers.mjs';
import { minute, peek, take, until, whole } from '../recorder.mjs';

// served calls a middleware of Express with a request of one client, and returns what it says.
const served = (middleware) => new Promise((resolve) => {
  const headers = {};
  const done = (status) => resolve({ status, headers });
  const res = {
    status(code) { this.code = code; return this; }, send() { done(this.code ?? 200); }, json() { done(this.code ?? 200); }, end() { done(this.code ?? 200); },
    set(name, value) { headers[name.toLowerCase()] = value; return this; }, setHeader(name, value) { headers[name.toLowerCase()] = value; },
  };
  Promise.resolve(middleware({ ip: '203.0.113.7', path: '/login', method: 'POST', headers: {}, socket: {} }, res, () => done(200))).catch((error) => resolve({ status: 500, headers: { error: String(error) } }));
});
const said = ({ status, headers }) => answer({
  allowed: status === 200, limit: headers['x-ratelimit-limit'] === undefined ? null : Number(headers['x-ratelimit-limit']),
  remaining: headers['x-ratelimit-remaining'] === undefined ? null : Number(headers['x-ratelimit-remaining']), raw: { status, headers },
});

const express = {
  library: 'express-limiter', version: version('express-limiter'), client: ioredis, algorithm: 'fixed-window', in_redis: ['limit'], denied: 'free',
  call: async (middleware) => said(await served(middleware)),
  notes: ['GET, then SET PX of JSON: total, remaining, which stops at -1, and reset; every request sets the expiry to a window anew'],
};
const expressOpen = (total, expire) => async (place) => limiter({}, place.client())({ lookup: 'ip', total, expire });

const koa = {
  library: 'koa2-ratelimit', version: version('koa2-ratelimit'), client: 'redis 4', algorithm: 'fixed-window', in_redis: [], denied: 'charged',
  call: async ({ limit }) => {
    const headers = {};
    const ctx = { request: { ip: '203.0.113.7' }, state: {}, set: (name, value) => { headers[name.toLowerCase()] = value; } };
    await limit(ctx, async () => { ctx.status = 200; });
    return said({ status: ctx.status, headers });
  },
  notes: ['SETEX <prefixKey>|<client> of whole seconds with the first request, then INCRBY; denied requests are counted'],
};
const koaOpen = (max, interval, more = {}) => async (place) => {
  const store = new koa2.Stores.Redis({ socket: { host: '127.0.0.1', port: place.port }, database: place.database });
  place.onClose(() => store.client.disconnect());
  await store.client.ping();
  return { limit: koa2.RateLimit.middleware({ max, interval, store, ...more }) };
};

const hit = {
  library: 'hitlimit', version: version('@joint-ops/hitlimit'), client: ioredis, algorithm: 'fixed-window', in_redis: [], denied: 'charged',
  call: async (middleware) => said(await served(middleware)),
  notes: ['INCR hitlimit:<key>, PEXPIRE with the first; hitlimit:violations:<key> counts denied requests, and hitlimit:ban:<key> denies everything while it is there'],
};
const hitOpen = (limit, window, ban) => async (place) => {
  const store = redisStore({ url: `redis://127.0.0.1:${place.port}/${place.database}` });
  place.onClose(() => store.shutdown());
  return hitlimit({ limit, window, store, key: (req) => req.ip, ...(ban ? { ban } : {}) });
};

const wait = {
  library: 'express-brute', version: version('express-brute'), client: `express-brute-redis ${version('express-brute-redis')}`, algorithm: 'unknown', in_redis: [], denied: 'free',
  call: async (guard) => said(await served(guard)),
  notes: ['GET, then SET and EXPIRE of JSON: count, lastRequest and firstRequest; how long the next request waits follows from settings of the program'],
};
const waitOpen = (freeRetries, minWait, maxWait, more = {}) => async (place) => new brute(new BruteStore({ client: place.client() }), {
  freeRetries, minWait, maxWait, ...more, failCallback: (req, res) => res.status(429).send() }).prevent;

export default [
  { ...express, scenario: 'basic', configured: { limit: 5, window_ms: 3000 }, open: expressOpen(5, 3000), script: whole(5, 3000) },
  { ...express, scenario: 'minute', configured: { limit: 100, window_ms: 60000 }, open: expressOpen(100, 60000), script: minute(100) },
  { ...koa, scenario: 'basic', configured: { limit: 5, window_ms: 3000 }, open: koaOpen(5, 3000), script: whole(5, 3000) },
  { ...koa, scenario: 'minute', configured: { limit: 100, window_ms: 60000 }, open: koaOpen(100, 60000), script: minute(100) },
  { ...koa, scenario: 'user-id', configured: { limit: 5, window_ms: 4000 }, open: koaOpen(5, 4000, { getUserId: async () => 42 }), script: whole(5, 4000) },
  { ...hit, scenario: 'basic', configured: { limit: 5, window_ms: 3000 }, open: hitOpen(5, '3s'), script: whole(5, 3000) },
  { ...hit, scenario: 'ban', configured: { limit: 3, window_ms: 2000 }, open: hitOpen(3, '2s', { threshold: 2, duration: '5s' }), script: [take(1), peek, take(2), take(1), take(2), peek, until(2500), take(1), peek] },
  { ...hit, scenario: 'ban-over', configured: { limit: 3, window_ms: 2000 }, open: hitOpen(3, '2s', { threshold: 2, duration: '3s' }), script: [take(5), peek, until(3300), take(2), peek, take(2), peek] },
  { ...wait, scenario: 'basic', configured: { limit: null, window_ms: null }, open: waitOpen(2, 500, 2000), script: [take(4), until(800), take(2)] },
  { ...wait, scenario: 'forgotten', configured: { limit: null, window_ms: null }, open: waitOpen(2, 500, 2000, { lifetime: 3 }), script: [take(4), until(4200), take(4)] },
];
