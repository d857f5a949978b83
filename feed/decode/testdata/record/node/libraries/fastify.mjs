// @fastify/rate-limit with its Redis store.
import Fastify from 'fastify';
import rateLimit from '@fastify/rate-limit';
import { fromHTTP, ioredis, version } from '../answers.mjs';
import { minute, peek, take, until, whole } from '../recorder.mjs';

const names = { limit: 'x-ratelimit-limit', remaining: 'x-ratelimit-remaining', reset: 'x-ratelimit-reset' };
const open = (options, route) => async (place) => {
  const app = Fastify();
  await app.register(rateLimit, { redis: place.client(), ...options });
  app.get('/', async () => 'ok');
  app.post('/orders/:id', { config: { rateLimit: route ?? {} } }, async () => 'ok');
  await app.ready();
  place.onClose(() => app.close());
  return app;
};
const call = (request = { method: 'GET', url: '/' }) => async (app) => {
  const response = await app.inject({ ...request, remoteAddress: '203.0.113.7' });
  const said = fromHTTP({ status: response.statusCode, headers: new Headers(Object.entries(response.headers).map(([k, v]) => [k, String(v)])) }, names);
  return { ...said, allowed: response.statusCode < 400 };
};

const base = {
  library: 'fastify-rate-limit', version: version('@fastify/rate-limit'), client: ioredis,
  algorithm: 'fixed-window', in_redis: ['window'], denied: 'charged', call: call(),
};
const story = (scenario, max, timeWindow, options, script, notes = [], more = {}) => ({
  ...base, scenario, configured: { limit: max, window_ms: timeWindow }, open: open({ max, timeWindow, ...options }), script, notes, ...more,
});
const rounding = 'x-ratelimit-reset and retry-after are ceil(TTL / 1 s)';

export default [
  story('basic', 5, 4000, {}, whole(5, 4000), [rounding]),
  story('minute', 100, 60000, {}, minute(100), [rounding]),
  story('name-space', 3, 2000, { nameSpace: 'api-limit:' }, whole(3, 2000)),
  { ...story('route', 9, 9000, {}, whole(3, 2000), ['a route with its own limit: the prefix is followed by method and url of the route and a dash']), configured: { limit: 3, window_ms: 2000 }, open: open({ max: 9, timeWindow: 9000 }, { max: 3, timeWindow: 2000 }), call: call({ method: 'POST', url: '/orders/7' }) },
  { ...story('group', 9, 9000, {}, [take(4)], ['groupId is added to the identifier without a separator']), configured: { limit: 3, window_ms: 2000 }, open: open({ max: 9, timeWindow: 9000 }, { max: 3, timeWindow: 2000, groupId: 'checkout' }), call: call({ method: 'POST', url: '/orders/7' }) },
  story('ban', 3, 2000, { ban: 2 }, [take(3), take(4), peek, until(2150), take(1)], ['from max + ban + 1 the status is 403; Redis holds nothing more than the count']),
  story('continue-exceeding', 3, 2000, { continueExceeding: true }, [take(3), peek, take(1), peek, until(1500), take(1), peek, until(2600), take(1), until(4800), take(2)], ['every denied call sets the TTL to the whole window again: the window runs from the last denial']),
  story('exponential-backoff', 2, 1000, { exponentialBackoff: true }, [take(2), peek, take(1), peek, take(1), peek, take(1), peek, until(1500), take(1), peek], ['denied call k sets the TTL to window * 2^(k-1)', 'the TTL tells the window only until the first denial']),
];
