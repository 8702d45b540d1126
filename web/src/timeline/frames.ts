// Waits until what was changed is drawn.

export const frames = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
