// Helpers that turn what a library says into the answer of a fixture.
import fs from 'node:fs';

export const answer = (given) => ({ allowed: null, limit: null, remaining: null, retry_after_ms: null, reset_after_ms: null, ...given, raw: JSON.stringify(given.raw) });

const number = (text) => (text === null || text === undefined ? null : Number(text));
const seconds = (text) => (text === null || text === undefined ? null : Number(text) * 1000);

// fromHTTP reads the answer of a middleware: status and headers by their names.
export function fromHTTP(response, names, deniedStatus = 429) {
  const header = (name) => (name ? response.headers.get(name) : null);
  const headers = Object.fromEntries([...response.headers].filter(([name]) => /ratelimit|retry-after/.test(name)));
  return answer({
    allowed: response.status !== deniedStatus && response.status < 400,
    limit: number(header(names.limit)),
    remaining: number(header(names.remaining)),
    retry_after_ms: seconds(header('retry-after')),
    reset_after_ms: seconds(header(names.reset)),
    raw: { status: response.status, headers },
  });
}

// listen serves a request handler on a free port and returns its address.
export async function listen(server, place) {
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  place.onClose(() => new Promise((resolve) => {
    server.closeAllConnections?.();
    server.close(resolve);
  }));
  return `http://127.0.0.1:${server.address().port}/`;
}

// version returns the version of an installed package.
export const version = (name) => JSON.parse(fs.readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url))).version;
export const ioredis = `ioredis ${version('ioredis')}`;
