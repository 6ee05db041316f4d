// Keeps buffers, whose memory is allocated outside the JavaScript heap.
const kept = [];
for (let n = 0; n < 20; n++) kept.push(Buffer.alloc(1 << 20));
console.log(kept.length, "buffers kept");
