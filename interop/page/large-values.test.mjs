// What is large is read when it is looked at, and not before.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, afterEach, before, test } from 'node:test';
import { deflateSync } from 'node:zlib';
import { until } from '../lib/wait.mjs';
import { Desk, live } from './desk.mjs';

/** @type {Desk} */
let desk;
before(async () => {
  desk = await Desk.open();
});
after(() => desk.close());
afterEach(async () => {
  desk.check();
  await desk.leave();
  await desk.rest();
});

const MB = 1_000_000;

/** Writes a part as a client may, into a message of its own. */
async function write(session, id, part) {
  const message = await desk.server.tell('POST', `/session/${session.id}/message`, { noReply: true, parts: [{ type: 'text', text: 'look' }] });
  const whole = { id, sessionID: session.id, messageID: message.info.id, ...part };
  await desk.server.tell('PATCH', `/session/${session.id}/message/${message.info.id}/part/${id}`, whole);
}

const call = (tool, output, input = { of: 'everything' }) => ({
  type: 'tool', callID: `call_${tool}`, tool,
  state: { status: 'completed', input, output, title: `All of ${tool}`, metadata: {}, time: { start: 1, end: 2 } },
});

/** What a tab was sent, by the browser's own count. */
async function weighed(page) {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Network.enable');
  const seen = { bytes: 0, values: [] };
  devtools.on('Network.dataReceived', (event) => (seen.bytes += event.dataLength));
  page.on('request', (request) => request.url().includes('/sturdy/blob/') && seen.values.push(request.url()));
  return seen;
}

const chunk = (name, data) => {
  const body = Buffer.concat([Buffer.from(name), data]);
  const all = Buffer.alloc(body.length + 8);
  all.writeUInt32BE(data.length, 0);
  body.copy(all, 4);
  all.writeUInt32BE(crc(body), body.length + 4);
  return all;
};
const crc = (bytes) => {
  let sum = ~0;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit += 1) sum = (sum >>> 1) ^ (0xedb88320 & -(sum & 1));
  }
  return ~sum >>> 0;
};

/** A square that does not pack well. */
function picture(side) {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(side, 0);
  head.writeUInt32BE(side, 4);
  head.set([8, 2, 0, 0, 0], 8);
  const rows = Buffer.alloc(side * (side * 3 + 1));
  for (let i = 0, seed = 7; i < rows.length; i += 1) {
    seed = (seed * 1103515245 + 12345) & 0x7fffffff;
    rows[i] = i % (side * 3 + 1) === 0 ? 0 : seed >> 16;
  }
  const png = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), chunk('IHDR', head), chunk('IDAT', deflateSync(rows)), chunk('IEND', Buffer.alloc(0))]);
  return `data:image/png;base64,${png.toString('base64')}`;
}

test('a session with 50 MB of output opens without reading them, and shows one when it is asked for', { timeout: 300_000 }, async () => {
  const session = await desk.session({ title: 'Heavy' });
  const line = 'one line of a very long output';
  const output = `${line} `.repeat(Math.ceil((25 * MB) / (line.length + 1)));
  await write(session, 'prt_0123456789abHeavyOneAAAAAA', call('first_all', `${output}the end of the first`));
  await write(session, 'prt_0123456789abHeavyTwoAAAAAA', call('second_all', `${output}the end of the second`));
  const page = await desk.tab('/');
  await live(page);
  const seen = await weighed(page);

  await page.locator('.list-row', { hasText: 'Heavy' }).locator('a').first().click();
  await page.getByText('All of second_all').waitFor();
  await live(page);
  const opened = { ...seen };
  await page.locator('.card', { hasText: 'All of second_all' }).locator('summary').click();
  const ask = page.getByRole('button', { name: 'Show (25 MB)' });
  await ask.waitFor();
  const unasked = seen.values.length;
  await ask.click();

  await page.getByText('the end of the second').waitFor();
  assert.ok(opened.bytes < MB, `${opened.bytes} bytes to open it`);
  assert.equal(unasked, 0);
  assert.equal(seen.values.length, 1);
  assert.ok(seen.bytes > 25 * MB && seen.bytes < 27 * MB, `${seen.bytes} bytes in all`);
});

test('an output of usual size is read when its card is opened, also one that comes while the session is open', { timeout: 120_000 }, async () => {
  const session = await desk.session({ title: 'Usual' });
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);
  const seen = await weighed(page);
  await write(session, 'prt_0123456789abUsualOneAAAAAA', call('usual_all', `${'word '.repeat(40_000)}the last word`));
  await page.getByText('All of usual_all').waitFor();
  const before = seen.bytes;

  await page.locator('.card', { hasText: 'All of usual_all' }).locator('summary').click();
  await page.getByText('the last word').waitFor();

  assert.ok(before < 100_000, `${before} bytes came with the stream`);
  assert.equal(seen.values.length, 1);
  // Closed and opened again, in this tab: it is still here.
  await page.reload();
  await page.locator('.card', { hasText: 'All of usual_all' }).locator('summary').click();
  await page.getByText('the last word').waitFor();
  assert.equal(seen.values.length, 2, 'nothing is kept on the device');
});

test('a picture is read when it is drawn, and a value that is gone says so', { timeout: 120_000 }, async () => {
  const session = await desk.session({ title: 'Seen' });
  const url = picture(160);
  await write(session, 'prt_0123456789abPictureAAAAAAA', { type: 'file', mime: 'image/png', filename: 'noise.png', url });
  await write(session, 'prt_0123456789abGoneAAAAAAAAAA', call('gone_all', 'x'.repeat(100_000)));
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);

  const image = page.locator('.picture img');
  await until('it is drawn', () => image.evaluate((element) => element.complete && element.naturalWidth));
  assert.equal(await image.evaluate((element) => element.naturalWidth), 160);
  await page.route('**/sturdy/blob/**', (route) => route.fulfill({ status: 404, contentType: 'application/json', body: '{"name":"NotFoundError","data":{"message":"No"}}' }));
  await page.locator('.card', { hasText: 'All of gone_all' }).locator('summary').click();
  await page.getByText('This is no longer stored').waitFor();
});

test('what is large is saved without passing through the page', { timeout: 120_000 }, async () => {
  const session = await desk.session({ title: 'Saved' });
  const output = `${'word '.repeat(400_000)}the last word`;
  await write(session, 'prt_0123456789abSavedOneAAAAAA', call('saved_all', output));
  await write(session, 'prt_0123456789abSavedTwoAAAAAA', { type: 'file', mime: 'application/zip', filename: 'notes.zip', url: `data:application/zip;base64,${'AAAA'.repeat(20_000)}` });
  const page = await desk.tab(`/s/${session.id}`);
  await live(page);
  const seen = await weighed(page);
  const saved = async (button) => {
    const [download] = await Promise.all([page.waitForEvent('download'), button.click()]);
    return { name: download.suggestedFilename(), bytes: await readFile(await download.path()) };
  };

  await page.locator('.card', { hasText: 'All of saved_all' }).locator('summary').click();
  const text = await saved(page.getByRole('button', { name: 'Save as a file' }));
  const file = await saved(page.getByRole('button', { name: 'Download notes.zip' }));
  await page.locator('.session-head').getByRole('button', { name: /^Menu/ }).click();
  const whole = await saved(page.getByRole('menuitem', { name: 'Export as JSON' }));

  assert.equal(text.name, 'saved_all.txt');
  assert.equal(text.bytes.toString(), output);
  assert.equal(file.name, 'notes.zip');
  assert.deepEqual(file.bytes, Buffer.alloc(60_000));
  assert.equal(whole.name, `${session.slug}.json`);
  assert.equal(JSON.parse(whole.bytes.toString()).messages.at(-2).parts.at(-1).state.output, output);
  assert.ok(seen.bytes < 100_000, `${seen.bytes} bytes came to the page`);
});
