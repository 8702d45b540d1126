// A start that cannot succeed: what the person at the shell is told, and with which exit code.

import assert from 'node:assert/strict';
import { mkdir, readFile, symlink, truncate, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { Server, sturdy, verify } from '../lib/server.mjs';
import { World } from '../lib/world.mjs';

/** A world that ends with the test. */
async function place(t) {
  const world = await World.make();
  t.after(() => world.remove());
  return world;
}

async function serving(t, world, options) {
  const server = await Server.start(world, options);
  t.after(() => server.kill());
  return server;
}

const serve = (world, ...more) => sturdy(world, ['serve', '--port', '0', '--data-dir', world.data, ...more]);

test('a port in use is named, with a way on', async (t) => {
  const world = await place(t);
  const taken = createServer().listen(0, '127.0.0.1');
  t.after(() => taken.close());
  await new Promise((resolve) => taken.once('listening', resolve));
  const { port } = taken.address();

  const { code, stdout, stderr } = await sturdy(world, ['serve', '--port', String(port), '--data-dir', world.data]);

  assert.equal(code, 1);
  assert.equal(stdout, '');
  assert.match(stderr, /^error: the port is in use$/m);
  assert.match(stderr, new RegExp(`address +127\\.0\\.0\\.1:${port}`));
  assert.match(stderr, /try +sturdy serve --port 0/);
});

test('a file in place of the data directory is named', async (t) => {
  const world = await place(t);
  await writeFile(world.data, 'not a directory');

  const { code, stderr } = await serve(world);

  assert.equal(code, 1);
  assert.match(stderr, /^error: the data directory is a file/m);
  assert.ok(stderr.includes(world.data));
  assert.match(stderr, /try .*--data-dir/);
  assert.equal(await readFile(world.data, 'utf8'), 'not a directory');
});

test('a data directory that cannot be made is named with the cause', async (t) => {
  const world = await place(t);
  await writeFile(join(world.root, 'file'), '');
  world.data = join(world.root, 'file', 'data');

  const { code, stderr } = await serve(world);

  assert.equal(code, 1);
  assert.match(stderr, /^error: the data directory/m);
  assert.match(stderr, /try .*--data-dir/);
});

test('a data directory that cannot be written is named', async (t) => {
  const world = await place(t);
  // Nobody, not even root, can make files there.
  await symlink('/proc/self', world.data);

  const { code, stderr } = await serve(world);

  assert.equal(code, 1);
  assert.match(stderr, /^error: the data directory cannot be/m);
  assert.match(stderr, /try .*--data-dir/);
});

test('a second server is told who serves the store, and the first goes on', async (t) => {
  const world = await place(t);
  const first = await serving(t, world);
  const session = await first.tell('POST', '/session', { title: 'Mine' });

  const { code, stderr } = await serve(world);

  assert.equal(code, 1);
  assert.match(stderr, /^error: this store is served by another process$/m);
  assert.match(stderr, new RegExp(`owner +\\S+, process ${first.pid}, since \\d{4}-\\d\\d-\\d\\d`));
  assert.ok(stderr.includes(`opencode attach ${first.url}`));
  assert.deepEqual(await first.tell('GET', `/session/${session.id}`), session);
});

test('verify is told as well while a server runs', async (t) => {
  const world = await place(t);
  const first = await serving(t, world);

  const { code, stderr } = await verify(world);

  assert.equal(code, 1);
  assert.ok(stderr.includes(`process ${first.pid}`));
});

test('a store that was killed is free for the next', async (t) => {
  const world = await place(t);
  const first = await serving(t, world);
  await first.kill();

  const second = await serving(t, world);

  assert.equal((await second.ask('GET', '/global/health')).status, 200);
});

test('a file that is no database is refused and not touched', async (t) => {
  const world = await place(t);
  await mkdir(world.data);
  const file = join(world.data, 'sturdy.db');
  const text = 'This is a shopping list, not a database.\n'.repeat(200);
  await writeFile(file, text);

  const { code, stderr } = await serve(world);

  assert.equal(code, 4);
  assert.match(stderr, /^error: .*not a database/m);
  assert.equal(await readFile(file, 'utf8'), text);
});

test('an unknown flag and a wrong value are refused with exit code 2', async (t) => {
  const world = await place(t);

  assert.equal((await serve(world, '--frobnicate')).code, 2);
  assert.equal((await serve(world, '--durability', 'maybe')).code, 2);
  assert.equal((await sturdy(world, ['serve', '--port', '99999'])).code, 2);
});

/** A store with some sessions, closed in order, and its one file. */
async function filled(t) {
  const world = await place(t);
  const server = await serving(t, world);
  for (let number = 0; number < 30; number++) {
    const { id } = await server.tell('POST', '/session', { title: `Session ${number}` });
    const parts = [{ type: 'text', text: `Note ${number} `.repeat(400) }];
    await server.tell('POST', `/session/${id}/message`, { noReply: true, parts });
  }
  await server.stop();
  return { world, file: join(world.data, 'sturdy.db') };
}

const PAGE_BYTES = 4096;

/** Every seventh page but the first, with its middle overwritten. */
async function eachDamage(file, look) {
  const whole = await readFile(file);
  for (let page = 1; page < whole.length / PAGE_BYTES; page += 7) {
    const damaged = Buffer.from(whole);
    damaged.fill(0xa5, page * PAGE_BYTES + 8, page * PAGE_BYTES + 3000);
    await writeFile(file, damaged);
    await look(page);
  }
}

test('verify changes nothing', async (t) => {
  const { world, file } = await filled(t);
  const before = await readFile(file);

  assert.equal((await verify(world)).code, 0);

  assert.ok((await readFile(file)).equals(before), 'the file has other bytes');
});

test('damaged pages are found by verify', async (t) => {
  const { world, file } = await filled(t);
  let found = 0;

  await eachDamage(file, async (page) => {
    const { code, stdout, stderr } = await verify(world);

    // A page that nothing uses is not missed.
    assert.ok(code === 4 || code === 0, `page ${page}: exit code ${code}: ${stdout}${stderr}`);
    assert.doesNotMatch(stderr, /panicked/, `page ${page}`);
    if (code === 4) found++;
  });

  assert.ok(found > 0, 'no page was in use');
});

test('a server on damaged pages says so, or serves what is whole, but nothing less', async (t) => {
  const { world, file } = await filled(t);
  const talk = await talkOf(world, t);
  let refused = 0;

  await eachDamage(file, async (page) => {
    let server;
    try {
      server = await serving(t, world);
    } catch (error) {
      refused++;
      assert.match(error.message, /"code":4/, `page ${page}`);
      return;
    }
    const list = await server.ask('GET', '/session?limit=100');
    if (list.status === 200) assert.equal(list.json.length, talk.size, `page ${page}: sessions are missing`);
    else assert.equal(list.json.name, 'StoreDamagedError', `page ${page}: ${list.text}`);
    for (const [id, messages] of talk) {
      const { status, json, text } = await server.ask('GET', `/session/${id}/message`);
      if (status === 200) assert.deepEqual(json, messages, `page ${page}`);
      else if (status !== 500 || json.name !== 'StoreDamagedError') assert.fail(`page ${page}: ${status} ${text}`);
    }
    await server.kill();
  });
  t.diagnostic(`${refused} starts were refused`);
});

/** Everything that was said in a whole store. */
async function talkOf(world, t) {
  const server = await serving(t, world);
  const talk = new Map();
  for (const { id } of await server.tell('GET', '/session?limit=100')) {
    talk.set(id, await server.tell('GET', `/session/${id}/message`));
  }
  await server.stop();
  return talk;
}

test('a start on a damaged schema is refused with the place and exit code 4', async (t) => {
  const { world, file } = await filled(t);
  const bytes = await readFile(file);
  // The page behind the file's own header holds the tables' names.
  bytes.fill(0xa5, 100, PAGE_BYTES);
  await writeFile(file, bytes);

  const { code, stdout, stderr } = await serve(world);

  assert.equal(code, 4, stdout + stderr);
  assert.match(stderr, /^error: /m);
  assert.match(stderr, /try /);
  assert.ok((await readFile(file)).equals(bytes), 'nothing was changed');
});

test('a database that was cut short is damage', async (t) => {
  const { world, file } = await filled(t);
  await truncate(file, PAGE_BYTES * 3);

  const { code, stderr, stdout } = await verify(world);

  assert.equal(code, 4, stdout + stderr);
});
