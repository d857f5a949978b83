// The limiters of Bull and BullMQ, and the other keys of their queues.
import Bull from 'bull';
import { Queue, Worker } from 'bullmq';
import { setTimeout as sleep } from 'node:timers/promises';
import { answer, ioredis, version } from '../answers.mjs';
import { look, pause, take, until } from '../recorder.mjs';

const connection = (place) => ({ host: '127.0.0.1', port: place.port, db: place.database, maxRetriesPerRequest: null });
const limiterKey = (key) => /^bull:[^:]+:limiter(:|$)/.test(key);

const PATIENCE = 400; // ms after which a job that has not started counts as held back

// started adds a job and tells whether its work began without a wait.
async function started(seen, add) {
  const { id } = await add();
  for (const deadline = Date.now() + PATIENCE; Date.now() < deadline; await sleep(5)) {
    if (seen.has(id)) return true;
  }
  return false;
}
// workOn returns the work of a job: its id is noted as begun.
const workOn = (seen) => async (job) => {
  seen.add(job.id);
  return 'done';
};

const bull = {
  library: 'bull', version: version('bull'), client: `ioredis 5.11.1`, algorithm: 'fixed-window', in_redis: ['window'], denied: 'free', configured: { limit: 3, window_ms: 5000 },
  keep: limiterKey, name: () => 'add a job', 
};
const openBull = (limiter) => async (place) => {
  const queue = new Bull('mail', { redis: connection(place), limiter });
  const seen = new Set();
  queue.process(workOn(seen));
  await queue.isReady();
  await sleep(300); // the worker waits for jobs now
  place.onClose(() => queue.close());
  return { queue, seen };
};
const callBull = async ({ queue, seen }) => answer({ allowed: await started(seen, () => queue.add({ user: 'alice' })), raw: await queue.getJobCounts() });

const mq = { ...bull, library: 'bullmq', version: version('bullmq'), client: ioredis, call: async ({ queue, seen }) => {
  const allowed = await started(seen, () => queue.add('send', { user: 'alice' }));
  const ttl = await queue.getRateLimitTtl();
  return answer({ allowed, retry_after_ms: allowed || ttl < 0 ? null : ttl, raw: { getRateLimitTtl: ttl, counts: await queue.getJobCounts() } });
} };
const openMQ = (limiter) => async (place) => {
  const queue = new Queue('mail', { connection: connection(place) });
  const seen = new Set();
  const worker = new Worker('mail', workOn(seen), { connection: connection(place), ...(limiter ? { limiter } : {}) });
  await worker.waitUntilReady();
  await sleep(300);
  place.onClose(() => queue.close());
  place.onClose(() => worker.close(true));
  return { queue, worker, seen };
};

const notes = ['INCR by each job that starts, PEXPIRE duration with the first; a job that has to wait is delayed and counts nothing', 'a job that has not begun after 400 ms is taken as held back'];
const others = { configured: {}, algorithm: 'other', in_redis: [], keep: (key) => !limiterKey(key), unrelated: true, notes: ['keys of a job queue beside its limiter: none is a limiter'] };
const work = [take(2), take(2), pause(300)];

export default [
  { ...bull, scenario: 'basic', open: openBull({ max: 3, duration: 5000 }), call: callBull, script: [take(3), take(3), until(5300), take(1), pause(1500), take(1)], notes: [...notes, 'limiter:index and limiter:…:limited are lists of the jobs that wait'] },
  { ...bull, scenario: 'group', open: openBull({ max: 2, duration: 5000, groupKey: 'user' }), call: callBull, script: [take(2), take(2), until(5300), take(1)], notes: ['groupKey: one counter for each group, limiter:<group>'] },
  { ...bull, ...others, scenario: 'queue', open: openBull({ max: 2, duration: 5000 }), call: callBull, script: work },
  { ...mq, scenario: 'basic', open: openMQ({ max: 3, duration: 5000 }), script: [take(3), take(3), until(5400), take(1), pause(1500), take(1)], notes: [...notes.slice(1), 'INCR by each job that starts, PEXPIRE with the first; jobs wait in the wait list, a denied fetch only reads', 'getRateLimitTtl without max answers the PTTL of the key, limited or not'] },
  { ...mq, scenario: 'global', open: openMQ(), keep: (key) => limiterKey(key) || key === 'bull:mail:meta', in_redis: ['limit', 'window'], script: [look('setGlobalRateLimit(3, 5000)', async ({ queue }) => answer({ raw: await queue.setGlobalRateLimit(3, 5000) })), take(3), take(2), until(5400), take(1)], notes: ['setGlobalRateLimit writes max and duration into the hash :meta: limit and window can be read there'] },
  { ...mq, scenario: 'manual', open: openMQ({ max: 3, duration: 5000 }), script: [take(1), look('worker.rateLimit(2000)', async ({ worker }) => {
    await worker.rateLimit(2000);
    return answer({ raw: null });
  }), take(1), until(2600), take(1)], notes: ['rateLimit() stores 9007199254740991 PX: a block'] },
  { ...mq, ...others, scenario: 'queue', open: openMQ({ max: 2, duration: 5000 }), script: work },
];
