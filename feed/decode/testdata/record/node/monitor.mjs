// The recorder's view of what libraries send: one MONITOR connection whose
// lines are sorted by database, without the recorder's own commands.
import net from 'node:net';
import { createHash } from 'node:crypto';

// Commands that belong to a connection or to the loading of scripts.
const leftOut = new Set(['hello', 'auth', 'select', 'client', 'info', 'script', 'ping', 'command', 'function', 'monitor', 'quit']);

// unquote converts the inside of a quoted MONITOR argument to its bytes.
function unquote(text) {
  const bytes = [];
  const short = { n: 10, r: 13, t: 9, a: 7, b: 8 };
  for (let i = 0; i < text.length; i++) {
    if (text[i] !== '\\') {
      bytes.push(text.charCodeAt(i));
    } else if (text[i + 1] === 'x') {
      bytes.push(parseInt(text.slice(i + 2, i + 4), 16));
      i += 3;
    } else {
      i++;
      bytes.push(short[text[i]] ?? text.charCodeAt(i));
    }
  }
  return Buffer.from(bytes);
}

// readable returns bytes as text, or {"base64": …} when they are no UTF-8.
export function readable(bytes) {
  const text = bytes.toString('utf8');
  return Buffer.from(text, 'utf8').equals(bytes) ? text : { base64: bytes.toString('base64') };
}

// withoutSource replaces the source of a script by its SHA1.
function withoutSource(args) {
  if (/^eval(_ro)?$/i.test(args[0])) {
    const name = /_ro$/i.test(args[0]) ? 'EVALSHA_RO' : 'EVALSHA';
    return [name, createHash('sha1').update(args[1]).digest('hex'), ...args.slice(2)];
  }
  return args;
}

// Monitor keeps the commands of each database until they are taken.
export class Monitor {
  #waiting = new Map(); // mark -> resolve
  #commands = new Map(); // database -> commands
  #own = new Set(); // addresses of the recorder's connections
  #sender = '';
  #rest = '';

  static async open(port) {
    const monitor = new Monitor();
    const socket = net.connect(port, '127.0.0.1');
    monitor.socket = socket;
    socket.setEncoding('latin1');
    socket.on('data', (text) => monitor.#read(text));
    socket.write('MONITOR\r\n');
    await new Promise((resolve) => socket.once('data', resolve));
    return monitor;
  }

  // ignore leaves out what the connection with this local port sends.
  ignore(localPort) {
    this.#own.add(`127.0.0.1:${localPort}`);
  }

  // watch starts to keep the commands of a database.
  watch(database) {
    this.#commands.set(database, []);
  }

  // seen resolves once the ECHO of this mark was observed.
  seen(mark) {
    return new Promise((resolve) => this.#waiting.set(mark, resolve));
  }

  // take returns the commands of a database since the last take.
  take(database) {
    const commands = this.#commands.get(database);
    this.#commands.set(database, []);
    return commands;
  }

  close() {
    this.socket.destroy();
  }

  #read(text) {
    const lines = (this.#rest + text).split('\r\n');
    this.#rest = lines.pop();
    for (const line of lines) this.#line(line);
  }

  #line(line) {
    const head = /^\+[\d.]+ \[(\d+) ([^\]]+)\] /.exec(line);
    if (!head) return;
    const database = Number(head[1]);
    if (head[2] !== 'lua') this.#sender = head[2];
    const own = this.#own.has(this.#sender);
    if (!own && !this.#commands.has(database)) return;
    const args = [...line.slice(head[0].length).matchAll(/"((?:[^"\\]|\\.)*)"/g)].map((m) => readable(unquote(m[1])));
    if (own) {
      if (/^echo$/i.test(args[0])) {
        this.#waiting.get(args[1])?.();
        this.#waiting.delete(args[1]);
      }
      return;
    }
    if (leftOut.has(String(args[0]).toLowerCase())) return;
    this.#commands.get(database).push(withoutSource(args));
  }
}
