// JavaScript: numbers, objects, strings, promises, a worker thread, a child process.
const {Worker} = require('worker_threads');
const {execFileSync} = require('child_process');
if (process.env.COUNTED) require('fs').appendFileSync(process.env.COUNTED, 'once\n');
let sum = 0;
for (let i = 0; i < 2e7; i++) sum = (sum * 31 + i) % 1000003;
const table = new Map();
for (let i = 0; i < 2e5; i++) table.set('key' + i % 3000, (table.get('key' + i % 3000) || 0) + i);
const worker = new Worker('let s = 0; for (let i = 0; i < 3e6; i++) s = (s * 7 + i) % 99991; require("worker_threads").parentPort.postMessage(s)', {eval: true});
worker.on('message', async (value) => {
	await new Promise((resolve) => setTimeout(resolve, 5));
	console.log(sum, table.get('key7'), value, execFileSync('echo', ['child']).toString().trim());
});
