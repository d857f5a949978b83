// main records every story of every library, several at a time.
import fs from 'node:fs';
import { Recorder } from './recorder.mjs';

const only = process.env.ONLY ?? '';
const files = fs.readdirSync(new URL('libraries/', import.meta.url)).sort();
const stories = [];
for (const file of files) stories.push(...(await import(`./libraries/${file}`)).default);

const recorder = await Recorder.open(Number(process.env.REDIS_PORT), { fixtures: process.env.FIXTURES, unrelated: process.env.UNRELATED });
const queue = stories.filter((story) => `${story.library}/${story.scenario}`.includes(only));
let failed = 0;
async function work() {
  for (let story = queue.shift(); story; story = queue.shift()) {
    const name = `${story.library}/${story.scenario}`;
    try {
      await recorder.record(story);
      console.log(name);
    } catch (error) {
      failed++;
      console.error(`${name}: ${error.stack}`);
    }
  }
}
await Promise.all(Array.from({ length: 4 }, work));
recorder.close();
process.exit(failed ? 1 : 0);
