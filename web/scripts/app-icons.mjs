// Draws the icons of the home screen: the shape of public/favicon.svg as PNG, because phones take no SVG there.
//
//   node scripts/app-icons.mjs     writes public/icon-*.png and public/apple-touch-icon.png
//
// Run by hand when the shape changes; the pictures are in the repository.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { crc32, deflateSync } from "node:zlib";

const folder = new URL("../public", import.meta.url).pathname;
/** All lengths are those of the SVG, which is 32 wide. */
const SIDE = 32;
const BACK = [0x0c, 0x6b, 0x78];
const FRONT = [0xff, 0xff, 0xff];
const LINES = [
  { from: 8, to: 24, y: 22 },
  { from: 10, to: 22, y: 16 },
  { from: 12, to: 20, y: 10 },
];
const STROKE = 3.2;
const CORNER = 7;
/** Points looked at in each direction of a pixel. */
const SAMPLES = 4;

const isOnLine = (x, y) =>
  LINES.some((line) => Math.hypot(x - Math.min(Math.max(x, line.from), line.to), y - line.y) <= STROKE / 2);
const isInCorners = (x, y) => {
  const away = (at) => Math.max(CORNER - at, at - (SIDE - CORNER), 0);
  return Math.hypot(away(x), away(y)) <= CORNER;
};

/** `shape` is "rounded", or "full" for a system that cuts the corners itself; `scale` shrinks what is drawn on it. */
function draw(size, shape, scale) {
  const rows = [];
  for (let row = 0; row < size; row += 1) {
    const line = Buffer.alloc(1 + size * 4);
    for (let column = 0; column < size; column += 1) line.set(pixel(column, row, size, shape, scale), 1 + column * 4);
    rows.push(line);
  }
  return png(size, Buffer.concat(rows));
}

function pixel(column, row, size, shape, scale) {
  let inside = 0;
  let lit = 0;
  for (let sample = 0; sample < SAMPLES * SAMPLES; sample += 1) {
    const x = ((column + ((sample % SAMPLES) + 0.5) / SAMPLES) / size) * SIDE;
    const y = ((row + (Math.floor(sample / SAMPLES) + 0.5) / SAMPLES) / size) * SIDE;
    if (shape === "rounded" && !isInCorners(x, y)) continue;
    inside += 1;
    const middle = SIDE / 2;
    if (isOnLine(middle + (x - middle) / scale, middle + (y - middle) / scale)) lit += 1;
  }
  const share = inside === 0 ? 0 : lit / inside;
  const colour = BACK.map((back, index) => Math.round(back + (FRONT[index] - back) * share));
  return [...colour, Math.round((inside / (SAMPLES * SAMPLES)) * 255)];
}

function png(size, rows) {
  const chunk = (name, data) => {
    const body = Buffer.concat([Buffer.from(name, "latin1"), data]);
    const ends = Buffer.alloc(8);
    ends.writeUInt32BE(data.length, 0);
    ends.writeUInt32BE(crc32(body), 4);
    return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)]);
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(size, 0);
  head.writeUInt32BE(size, 4);
  // Eight bits of red, green, blue and opacity.
  head.set([8, 6, 0, 0, 0], 8);
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([signature, chunk("IHDR", head), chunk("IDAT", deflateSync(rows, { level: 9 })), chunk("IEND", Buffer.alloc(0))]);
}

for (const [name, size, shape, scale] of [
  ["icon-192.png", 192, "rounded", 1],
  ["icon-512.png", 512, "rounded", 1],
  ["icon-maskable.png", 512, "full", 0.8],
  ["apple-touch-icon.png", 180, "full", 0.9],
]) {
  writeFileSync(join(folder, name), draw(size, shape, scale));
}
