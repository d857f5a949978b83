// @upstash/ratelimit. It talks to Redis over HTTP; a small server here takes its
// requests to the recorder's Redis.
import http from 'node:http';
import { Ratelimit, MultiRegionRatelimit, IpDenyList } from '@upstash/ratelimit';
import { Redis } from '@upstash/redis';
import { answer, listen, version } from '../answers.mjs';
import { look, peek, phase, quiet, take, until } from '../recorder.mjs';

// run sends one command. The flag of the scripts' first line is one that only
// the vendor's server knows, so that line is left out.
async function run(redis, [name, ...args]) {
  if (/^eval$/i.test(name)) args[0] = args[0].replace(/^#!lua[^\n]*\n/, '');
  try {
    return { result: await redis.call(name, ...args.map(String)) };
  } catch (error) {
    return { error: error.message };
  }
}

// connect returns the library's client, joined to the place's database.
async function connect(place) {
  const redis = place.client();
  const server = http.createServer(async (request, response) => {
    let text = '';
    for await (const part of request) text += part;
    const body = JSON.parse(text);
    const many = Array.isArray(body[0]);
    const replies = [];
    for (const command of many ? body : [body]) replies.push(await run(redis, command));
    const reply = many ? replies : replies[0];
    response.writeHead(!many && reply.error ? 400 : 200, { 'content-type': 'application/json', connection: 'close' });
    response.end(JSON.stringify(reply));
  });
  const url = (await listen(server, place)).replace(/\/$/, '');
  return new Redis({ url, token: 'none', responseEncoding: false, enableTelemetry: false, retry: false });
}

// open makes a limiter; with remembers it has the cache of denials that is on by default.
const open = (limiter, { remembers, ...options } = {}) => async (place) => {
  const redis = await connect(place);
  const limit = new Ratelimit({ redis, limiter, ephemeralCache: remembers ? new Map() : false, ...options });
  limit.redis = redis;
  return limit;
};
const call = (id = 'alice') => async (limiter, cost) => {
  const { pending, ...raw } = await limiter.limit(id, cost === 1 ? undefined : { rate: cost });
  await pending;
  return answer({ allowed: raw.success, limit: raw.limit, remaining: raw.remaining, reset_after_ms: raw.reset - Date.now(), raw });
};
const remaining = look("getRemaining('alice')", async (limiter) => {
  const raw = await limiter.getRemaining('alice');
  return answer({ limit: raw.limit, remaining: raw.remaining, reset_after_ms: raw.reset - Date.now(), raw });
});

const base = {
  library: 'upstash-ratelimit', version: version('@upstash/ratelimit'), client: `@upstash/redis ${version('@upstash/redis')} through a REST server to Redis`,
  algorithm: 'fixed-window', in_redis: ['window'], denied: 'charged', call: call(), name: (cost) => (cost === 1 ? "limit('alice')" : `limit('alice', {rate: ${cost}})`),
};
const fixed = { ...base, notes: ['the bucket counts from 1970; PEXPIRE window on the first call, so the key outlives its bucket', 'reset is the end of the bucket in Unix ms', 'ephemeralCache is off: with it (the default) a process denies until reset without asking Redis'] };
const sliding = { ...base, algorithm: 'sliding-window', denied: 'free', in_redis: ['window'], notes: ['TTL 2 * window + 1000 from the first call in the bucket', 'denied when floor((1 - phase) * previous) + current >= limit, the cost is not part of it; an admitted cost is added in full and the answer of one that goes over is a denial all the same', 'reset is the end of the current bucket, not the next admission'] };
const bucket = { ...base, algorithm: 'token-bucket', denied: 'free', in_redis: [], notes: ['HASH refilledAt, tokens; refills in whole intervals', 'PEXPIRE ceil((max - tokens) / refillRate) * interval', 'reset is the time of the next refill'] };

const slidingStory = (limit, window) => [
  phase(window, 100), take(1), peek, take(limit - 2), peek, take(1), peek, take(2), peek,
  phase(window, 60), take(1), peek, phase(window, window * 0.3), take(2), peek, phase(window, window * 0.65), take(3), peek, phase(window, window * 0.9), take(2), peek, remaining,
  phase(window, 80), take(1), peek,
];
const fixedStory = (limit, window) => [phase(window, 150), take(1), peek, take(limit - 2), peek, take(1), peek, take(2), peek, remaining, phase(window, 100), take(limit), peek, take(1), peek];

const multi = (limiter) => async (place) => {
  const limit = new MultiRegionRatelimit({ redis: [await connect(place)], limiter });
  limit.ctx.cache = undefined; // this class cannot switch its cache off
  return limit;
};

export default [
  { ...fixed, scenario: 'fixed-window', configured: { limit: 5, window_ms: 4000 }, open: open(Ratelimit.fixedWindow(5, '4 s')), script: fixedStory(5, 4000) },
  { ...fixed, scenario: 'fixed-window-cost', configured: { limit: 10, window_ms: 4000 }, open: open(Ratelimit.fixedWindow(10, '4 s')), script: [phase(4000, 150), take(1, 4), take(1, 4), peek, take(1, 4), peek, take(1, -3), peek, take(1, 1), phase(4000, 100), take(1, 10), take(1, 1), peek], notes: [...fixed.notes, 'a denied cost is charged in full; a negative rate gives back'] },
  { ...fixed, scenario: 'fixed-window-minute', configured: { limit: 100, window_ms: 60000 }, open: open(Ratelimit.fixedWindow(100, '1 m')), script: [take(1), quiet(97), take(1), take(1), take(2), remaining] },
  { ...fixed, scenario: 'prefix', configured: { limit: 3, window_ms: 2000 }, open: open(Ratelimit.fixedWindow(3, '2 s'), { prefix: 'app' }), script: fixedStory(3, 2000) },
  { ...sliding, scenario: 'sliding-window', configured: { limit: 10, window_ms: 4000 }, open: open(Ratelimit.slidingWindow(10, '4 s')), script: slidingStory(10, 4000) },
  { ...sliding, scenario: 'sliding-window-cost', configured: { limit: 10, window_ms: 4000 }, open: open(Ratelimit.slidingWindow(10, '4 s')), script: [phase(4000, 150), take(1, 4), take(1, 5), peek, take(1, 5), peek, take(1, 2), peek, phase(4000, 1300), take(1, 2), peek, take(1, 3), phase(4000, 3000), take(1, 1), peek], notes: [...sliding.notes, 'at 9 of 10 a cost of 5 is denied and stored: the count is 14'] },
  { ...sliding, scenario: 'sliding-window-minute', configured: { limit: 100, window_ms: 60000 }, open: open(Ratelimit.slidingWindow(100, '60 s')), script: [take(1), quiet(97), take(1), take(1), take(2), remaining] },
  { ...sliding, scenario: 'sliding-window-cache', configured: { limit: 3, window_ms: 3000 }, open: open(Ratelimit.slidingWindow(3, '3 s'), { remembers: true }), script: [phase(3000, 100), take(3), take(2), peek, phase(3000, 1700), take(3), peek], notes: ['ephemeralCache: after a denial this process denies until reset without asking Redis'] },
  { ...bucket, scenario: 'token-bucket', configured: { limit: 6, window_ms: 1000, burst: 6 }, open: open(Ratelimit.tokenBucket(2, '1 s', 6)), script: [take(1), peek, take(4), peek, take(1), peek, take(2), peek, until(1150), take(1), peek, take(1), take(1), peek, until(4600), take(1), peek, remaining], notes: [...bucket.notes, 'refillRate 2 per interval of 1 s, 6 at most', 'getRemaining does not refill: it answers the stored tokens'] },
  { ...bucket, scenario: 'token-bucket-cost', configured: { limit: 10, window_ms: 1000, burst: 10 }, open: open(Ratelimit.tokenBucket(3, '1 s', 10)), script: [take(1, 8), take(1, 3), take(1, 2), peek, until(1200), take(1, 4), take(1, 3), peek, take(1, -4), peek], notes: [...bucket.notes, 'a cost above the tokens left is denied and writes nothing, also no refill', 'a negative rate may lift tokens above the maximum; with nothing missing the TTL is left as it was'] },
  { ...bucket, scenario: 'token-bucket-minute', configured: { limit: 100, window_ms: 60000, burst: 100 }, open: open(Ratelimit.tokenBucket(10, '1 m', 100)), script: [take(1), quiet(97), take(1), take(1), take(2), remaining], notes: [...bucket.notes, 'refillRate 10 per interval of 60 s, 100 at most'] },
  { ...fixed, scenario: 'cached-fixed-window', in_redis: [], configured: { limit: 4, window_ms: 3000 }, denied: 'free', open: open(Ratelimit.cachedFixedWindow(4, '3 s'), { remembers: true }), script: [phase(3000, 150), take(3), take(1), peek, take(2), phase(3000, 100), take(1)], notes: ['the script compares a number with a string: PEXPIRE is never sent, the keys have no TTL', 'the process counts; what it denies is not written, but the first call of another process above the limit is'] },
  {
    ...fixed, scenario: 'dynamic-limit', in_redis: ['limit', 'window'], configured: { limit: 5, window_ms: 4000 }, open: open(Ratelimit.fixedWindow(5, '4 s'), { dynamicLimits: true }),
    script: [phase(4000, 150), take(2), look('setDynamicLimit({limit: 3})', async (limiter) => answer({ raw: (await limiter.setDynamicLimit({ limit: 3 })) ?? null })), take(2), peek, look('getDynamicLimit()', async (limiter) => answer({ raw: await limiter.getDynamicLimit() })), phase(4000, 100), take(3), peek, look('setDynamicLimit({limit: false})', async (limiter) => answer({ raw: (await limiter.setDynamicLimit({ limit: false })) ?? null })), take(2), take(1)],
    notes: [...fixed.notes, 'prefix:dynamic:global holds the limit of all identifiers, without TTL'],
  },
  { ...sliding, scenario: 'analytics', configured: { limit: 3, window_ms: 4000 }, open: open(Ratelimit.slidingWindow(3, '4 s'), { analytics: true }), script: [phase(4000, 150), take(3), take(2), look("limit('bob')", (limiter) => call('bob')(limiter, 1))], notes: [...sliding.notes, 'prefix:events:<start of the hour in ms> is a sorted set, score = number of calls, member {"identifier", "success"}; no TTL'] },
  {
    ...sliding, scenario: 'deny-list', name: () => "limit('mallory')", configured: { limit: 3, window_ms: 4000 }, call: call('mallory'), open: open(Ratelimit.slidingWindow(3, '4 s'), { enableProtection: true, analytics: true }),
    script: [look('disableIpDenyList', async (limiter) => answer({ raw: await IpDenyList.disableIpDenyList(limiter.redis, '@upstash/ratelimit') })), phase(4000, 150), take(1), look("SADD denyList:all 'mallory'", async (limiter) => answer({ raw: await limiter.redis.sadd('@upstash/ratelimit:denyList:all', 'mallory') })), take(1), take(2)],
    notes: ['a member of denyList:all is denied; the first denied call is counted all the same, then the process denies for a minute by itself', 'analytics count it under success "denied"'],
  },
  { ...base, scenario: 'multi-region-fixed', denied: 'charged', configured: { limit: 4, window_ms: 3000 }, open: multi(MultiRegionRatelimit.fixedWindow(4, '3 s')), script: fixedStory(4, 3000), notes: ['HASH request id -> cost, the same names and TTL as the fixed window of one region; one region here', 'remaining of the call that goes over is -1'] },
  { ...sliding, scenario: 'multi-region-sliding', configured: { limit: 4, window_ms: 3000 }, open: multi(MultiRegionRatelimit.slidingWindow(4, '3 s')), script: slidingStory(4, 3000), notes: ['HASH request id -> cost; denied when (1 - phase) * previous + current + cost > limit, not rounded', 'TTL 2 * window + 1000'] },
];
