// The recording of 'fathom scale': speed-up by number of threads, and where the time of the processors goes. The data are
// those of 'fathom report --json'.
import { element, note, section } from './dom.js';
import { speedupCurve } from './charts.js';
import { interval, number, time } from './format.js';
import { table } from './tables.js';

const figure = (object, name) => (object?.[name] ? [object[name].value, object[name].low, object[name].high] : object?.[`${name}_why`] ?? 'not available');
const share = (value) => `${number(100 * value)} %`;

const PARTS = {
	useful: 'processor time with the smallest number',
	slower: 'extra processor time for the same work (caches, memory or shared cores)',
	serial: 'idle while one thread runs alone',
	imbalance: 'idle or spinning until the busiest thread ends',
	waiting: 'blocked or spinning (locks, barriers, queues)',
	transfers: 'cache line transfers between threads',
	delayed: 'ready, but without a processor',
};
const colour = (index) => `var(--routine-${index % 8})`;

export function scaleFacts(scale) {
	const { verdict } = scale, decisive = scale.counts.find((count) => count.threads === verdict.threads) ?? scale.counts.at(-1);
	return [
		['verdict', verdict.level ? `${verdict.cause}: ${verdict.level}` : verdict.cause, verdict.confidence ? `confidence ${number(verdict.confidence)}` : ''],
		[`speed-up, ${decisive.threads} ${scale.by}`, interval(figure(decisive, 'speedup')), `${number(100 * (decisive.efficiency?.value ?? NaN))} % of the ideal`],
		['processors', String(scale.cpus), scale.simulated ? 'simulated' : `numbers of threads by ${scale.set_by}`],
	];
}

export function scaleAnswer(scale) {
	const { verdict } = scale;
	return [
		element('ul', {}, verdict.evidence.map((line) => element('li', {}, line))),
		verdict.line ? note(`Where: ${verdict.line}`) : null,
		note(`Try: ${verdict.advice}`),
		scale.stopped ? note(`Not complete: ${scale.stopped}.`) : null,
	];
}

function bars(scale) {
	const parts = Object.keys(PARTS).filter((part) => scale.counts.some((count) => count.time[part] >= 0.005));
	return element('figure', {},
		scale.counts.map((count) => element('div', { class: 'fact broad' }, element('span', { class: 'name' }, `${count.threads} ${scale.by}`),
			element('span', { class: 'level-bar', role: 'img', 'aria-label': parts.map((part) => `${part} ${share(count.time[part])}`).join(', ') },
				parts.map((part, index) => element('i', { style: { width: `${100 * count.time[part]}%`, background: colour(index) }, title: `${part}: ${share(count.time[part])}` }))))),
		element('figcaption', {}, parts.map((part, index) => element('span', { class: 'key', title: PARTS[part] }, element('i', { class: 'dot', style: { '--colour': colour(index) } }), `${part}: ${PARTS[part]}`))));
}

export function scaleSections(scale) {
	const memory = (count) => count.levels.at(-1), rows = scale.counts;
	return [
		section('speedup', 'Speed-up', speedupCurve(rows.filter((count) => count.speedup).map((count) => ({ threads: count.threads, speedup: figure(count, 'speedup') }))),
			table({ id: 'scale-table', caption: 'Numbers of threads', rows, total: rows.length, columns: [
				{ head: scale.by, cell: (row) => String(row.threads), sort: (row) => row.threads },
				{ head: 'time', number: true, cell: (row) => (row.elapsed ? time(row.elapsed.value) : 'n/a'), sort: (row) => row.elapsed?.value ?? NaN },
				{ head: 'speed-up', number: true, cell: (row) => interval(figure(row, 'speedup')), sort: (row) => row.speedup?.value ?? NaN },
				{ head: `${memory(rows[0])?.name ?? 'memory'}, GB/s`, number: true, cell: (row) => interval(figure(memory(row), 'gbs')) },
				{ head: 'peak GB/s', number: true, cell: (row) => (memory(row)?.sustainable_gbs ? number(memory(row).sustainable_gbs.value) : 'n/a') },
				{ head: 'used', number: true, cell: (row) => (memory(row)?.utilisation ? share(memory(row).utilisation.value) : 'n/a') },
				{ head: 'waiting', number: true, cell: (row) => (row.waiting ? share(row.waiting.value) : 'n/a') },
				{ head: 'imbalance', number: true, cell: (row) => (row.imbalance ? number(row.imbalance.value) : '') }] })),
		section('processors', 'Time of the processors', bars(scale)),
		section('fit', 'Laws of scaling', note(`Amdahl: serial share ${scale.fit.serial_share ? share(scale.fit.serial_share.value) : 'n/a'}; universal scalability law: contention ${scale.fit.contention ? number(scale.fit.contention.value) : 'n/a'}, coherence ${scale.fit.coherence ? number(scale.fit.coherence.value) : 'n/a'}.`)),
	];
}
