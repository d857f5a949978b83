// Libraries that keep a sorted set with one member for each request.
import http from 'node:http';
import { createRequire } from 'node:module';
import Koa from 'koa';
import koaRatelimit from 'koa-ratelimit';
import RateLimiter from 'ratelimiter';
import AsyncLimiter from 'async-ratelimiter';
import { RedisRateLimiter } from 'rolling-rate-limiter';
import { RedisSlidingWindowRateLimiter } from 'sliding-window-rate-limiter';
import { answer, ioredis, listen, version } from '../answers.mjs';
import { look, minute, peek, take, until } from '../recorder.mjs';

const story = (limit, window) => [
  take(1), peek, until(window * 0.2), take(limit - 2), peek, until(window * 0.4), take(1), peek, take(2), peek,
  until(window * 0.7), take(1), peek, until(window + 60), take(1), peek, until(window * 1.5), take(3), peek, until(window * 2.7), take(1), peek,
];
const hourly = 'members are scores: microseconds of the client; the TTL is the window, set again by every call';

const tj = {
  library: 'ratelimiter', version: version('ratelimiter'), client: ioredis, algorithm: 'sliding-log', in_redis: ['window'], denied: 'charged',
  call: (limiter) => new Promise((resolve, reject) => limiter.get((error, raw) => (error ? reject(error) : resolve(answer({
    allowed: raw.remaining > 0, limit: raw.total, remaining: raw.remaining, retry_after_ms: raw.remaining > 0 ? null : raw.resetMs - Date.now(), reset_after_ms: raw.resetMs - Date.now(), raw,
  }))))),
  name: () => 'get()',
  notes: ['remaining counts before the call: the first call answers the limit, a denied one 0', hourly, 'a denied call is added, too, and the set is trimmed to the newest max members: who goes on calling stays out', 'reset is the time at which the oldest kept member leaves, in whole seconds, resetMs in ms, both rounded down'],
};
const tjOpen = (max, duration, id = 'alice') => async (place) => new RateLimiter({ id, db: place.client(), max, duration });

const koa = {
  library: 'koa-ratelimit', version: `${version('koa-ratelimit')} (async-ratelimiter ${version('async-ratelimiter')})`, client: ioredis, algorithm: 'sliding-log', in_redis: ['window'], denied: 'free',
  scenario: 'basic', configured: { limit: 4, window_ms: 3000 },
  open: async (place) => {
    const app = new Koa();
    app.silent = true;
    app.use(koaRatelimit({ db: place.client(), max: 4, duration: 3000, id: () => '203.0.113.7' }));
    app.use((ctx) => { ctx.body = 'ok'; });
    return { address: await listen(http.createServer(app.callback()), place) };
  },
  call: async ({ address }) => {
    const response = await fetch(address, { headers: { connection: 'close' } });
    await response.text();
    const header = (name) => (response.headers.has(name) ? Number(response.headers.get(name)) : null);
    const raw = { status: response.status, headers: Object.fromEntries([...response.headers].filter(([name]) => /ratelimit|retry-after/.test(name))) };
    return answer({ allowed: response.status === 200, limit: header('x-ratelimit-limit'), remaining: header('x-ratelimit-remaining'), retry_after_ms: response.status === 200 ? null : header('retry-after') * 1000, reset_after_ms: header('x-ratelimit-reset') * 1000 - Date.now(), raw });
  },
  script: story(4, 3000), notes: ['the limiter is async-ratelimiter; X-RateLimit-Remaining counts after the call', 'X-RateLimit-Reset is Unix seconds rounded down, Retry-After rounds down again: may be 0 or negative'],
};

const asynchronous = {
  library: 'async-ratelimiter', version: version('async-ratelimiter'), client: ioredis, algorithm: 'sliding-log', in_redis: ['window'], denied: 'free',
  call: async (limiter) => {
    const raw = await limiter.get();
    return answer({ allowed: raw.remaining > 0, limit: raw.total, remaining: raw.remaining, retry_after_ms: null, reset_after_ms: raw.reset * 1000 - Date.now(), raw });
  },
  name: () => 'get()',
  notes: ['remaining counts before the call; reset is Unix seconds rounded down', 'members are scores: milliseconds of the client with a fraction; the TTL is set by admitted calls only', 'a denied call removes what expired and writes nothing else'],
};
const asyncOpen = (max, duration, more = {}) => async (place) => new AsyncLimiter({ db: place.client(), id: 'alice', max, duration, ...more });

// The version that hapi-rate-limitor brings: no script, a MULTI like ratelimiter's.
const hapiRequire = createRequire(createRequire(import.meta.url).resolve('hapi-rate-limitor'));
const HapiLimiter = hapiRequire('async-ratelimiter');

const rolling = {
  library: 'rolling-rate-limiter', version: version('rolling-rate-limiter'), client: ioredis, algorithm: 'sliding-log', in_redis: ['window'], denied: 'charged',
  call: async (limiter) => {
    const raw = await limiter.limitWithInfo('alice');
    return answer({ allowed: !raw.blocked, remaining: raw.actionsRemaining, retry_after_ms: raw.blocked ? raw.millisecondsUntilAllowed : 0, raw });
  },
  name: () => "limitWithInfo('alice')",
  notes: ['scores are microseconds of the client, members random UUIDs; EXPIRE ceil(interval / 1 s), set again by every call and by wouldLimit', 'a denied call is added, too; nothing is trimmed by count: who goes on calling stays out', 'millisecondsUntilAllowed of an admitted call that fills the window is the wait of the next one'],
};
const rollingOpen = (options) => async (place) => new RedisRateLimiter({ client: place.client(), namespace: 'rolling:', ...options });

const serverside = {
  library: 'sliding-window-rate-limiter', version: version('sliding-window-rate-limiter'), client: 'ioredis 5', algorithm: 'sliding-log', in_redis: ['window'], denied: 'free',
  call: async (limiter) => {
    const raw = await limiter.reserve('alice', 4);
    return answer({ allowed: raw.token !== undefined, remaining: 4 - raw.usage, retry_after_ms: raw.token !== undefined ? null : raw.reset, reset_after_ms: raw.reset ?? null, raw });
  },
  name: () => "reserve('alice', 4)",
};

export default [
  { ...tj, scenario: 'basic', configured: { limit: 4, window_ms: 3000 }, open: tjOpen(4, 3000), script: story(4, 3000) },
  { ...tj, scenario: 'minute', configured: { limit: 100, window_ms: 60000 }, open: tjOpen(100, 60000), script: minute(100) },
  { ...tj, scenario: 'limit-one', configured: { limit: 1, window_ms: 1500 }, open: tjOpen(1, 1500), script: [take(1), peek, take(2), peek, until(1800), take(1), peek] },
  koa,
  { ...asynchronous, scenario: 'basic', configured: { limit: 4, window_ms: 3000 }, open: asyncOpen(4, 3000), script: [...story(4, 3000), look('get({ peek: true })', async (limiter) => answer({ raw: await limiter.get({ peek: true }) }))] },
  { ...asynchronous, scenario: 'minute', configured: { limit: 100, window_ms: 60000 }, open: asyncOpen(100, 60000), script: minute(100) },
  { ...asynchronous, scenario: 'namespace', configured: { limit: 3, window_ms: 2000 }, open: asyncOpen(3, 2000, { namespace: 'api' }), script: story(3, 2000) },
  {
    ...asynchronous, library: 'hapi-rate-limitor', version: `${version('hapi-rate-limitor')} (async-ratelimiter 1.3)`, scenario: 'basic', denied: 'charged', configured: { limit: 4, window_ms: 3000 },
    open: async (place) => new HapiLimiter({ db: place.client(), id: 'alice', max: 4, duration: 3000, namespace: 'hapi-rate-limitor' }), script: story(4, 3000), notes: [...tj.notes, 'the limiter inside the plugin, with the namespace that the plugin gives it'],
  },
  { ...rolling, scenario: 'basic', configured: { limit: 4, window_ms: 3000 }, open: rollingOpen({ interval: 3000, maxInInterval: 4 }), script: [...story(4, 3000), look("wouldLimitWithInfo('alice')", async (limiter) => answer({ raw: await limiter.wouldLimitWithInfo('alice') }))] },
  { ...rolling, scenario: 'minute', configured: { limit: 100, window_ms: 60000 }, open: rollingOpen({ interval: 60000, maxInInterval: 100 }), script: minute(100) },
  { ...rolling, scenario: 'min-difference', configured: { limit: 5, window_ms: 2500 }, open: rollingOpen({ interval: 2500, maxInInterval: 5, minDifference: 400 }), script: [take(1), peek, take(1), peek, until(600), take(1), peek, until(1200), take(1), until(1700), take(1), peek, until(2600), take(2), peek], notes: [...rolling.notes, 'minDifference 400 ms is nowhere in Redis: a call too close to the one before is denied, and charged'] },
  { ...serverside, scenario: 'basic', configured: { limit: 4, window_ms: 3000 }, open: async (place) => new RedisSlidingWindowRateLimiter({ redis: place.client(), interval: 3000 }), script: story(4, 3000), notes: ['the key is the identifier; member and score are microseconds of the server', 'EXPIRE takes the interval in ms for seconds: the TTL is a thousand windows', 'reset is ms, rounded up'] },
];
