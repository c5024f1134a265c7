// A recording of 'fathom stat': levels, cycles, functions, lines, variables, regions, threads, events. The data are those of
// 'fathom report --json'.
import { element, note, section } from './dom.js';
import { bytes, count, fileName, interval, number, percent, time, valueOf } from './format.js';
import { memoryChart } from './memory_chart.js';
import { bar, table } from './tables.js';

// A figure of --json, as figures are here
const figure = (object, name) => (object?.[name] ? [object[name].value, object[name].low, object[name].high] : object?.[`${name}_why`] ?? 'not available');
const withOrigin = (object, name) => (object?.[name] ? `${object[name].origin}, ${object[name].backend}` : object?.[`${name}_why`] ?? '');
const size = (object, name) => (Array.isArray(figure(object, name)) ? bytes(figure(object, name)[0]) : '');

const CYCLES = [['productive', 'productive', 0], ['bandwidth_bound', 'bandwidth-bound', 1], ['latency_bound', 'latency-bound', 4], ['other_stall', 'other stalls', 5]];

// Division of the cycles, as one bar and in words
function cycleBar(cycles) {
	const active = valueOf(figure(cycles, 'active')), parts = CYCLES.map(([key, name, colour]) => ({ name, colour, share: valueOf(figure(cycles, key)) / active })).filter(({ share }) => share >= 0);
	if (!(active > 0) || !parts.length)
		return null;
	const words = parts.map(({ name, share }) => `${(100 * share).toFixed(0)} % ${name}`).join(', ');
	return [
		element('div', { class: 'level-bar wide', role: 'img', 'aria-label': words }, parts.map(({ share, colour }) => element('i', { style: { width: `${100 * share}%`, background: `var(--level-${colour})` } }))),
		element('p', { class: 'keys' }, parts.map(({ name, share, colour }) => element('span', { class: 'key' }, element('i', { class: 'dot', style: { '--colour': `var(--level-${colour})` } }), `${name} ${(100 * share).toFixed(0)} %`))),
	];
}

function levelRows(stat) {
	return table({
		id: 'stat-levels', caption: 'Traffic into each level', rows: stat.levels ?? [], total: (stat.levels ?? []).length,
		columns: [
			{ head: 'Level', cell: (row) => row.name },
			{ head: 'read', number: true, cell: (row) => size(row, 'read_bytes'), tip: (row) => withOrigin(row, 'read_bytes') },
			{ head: 'write-allocate', number: true, cell: (row) => size(row, 'allocate_bytes') },
			{ head: 'written', number: true, cell: (row) => size(row, 'write_bytes') },
			{ head: 'GB/s', number: true, cell: (row) => interval(figure(row, 'gbs')), tip: (row) => withOrigin(row, 'gbs') },
			{ head: 'peak GB/s', number: true, cell: (row) => interval(figure(row, 'peak_gbs')), tip: (row) => withOrigin(row, 'peak_gbs') },
			{ head: 'of peak %', number: true, cell: (row) => bar(figure(row, 'utilisation')), tip: (row) => withOrigin(row, 'utilisation') },
		],
	});
}

const misses = (row) => Object.entries(row.misses ?? {});

function places(id, caption, rows, name, first) {
	const levels = rows.length ? Object.keys(rows[0].misses ?? {}) : [];
	return rows.length ? table({
		id, caption, rows, total: rows.length,
		columns: [
			{ head: name, cell: first, sort: first },
			{ head: 'loads', number: true, cell: (row) => count(row.loads), sort: (row) => row.loads },
			{ head: 'stores', number: true, cell: (row) => count(row.stores), sort: (row) => row.stores },
			...levels.map((level, index) => ({ head: `misses ${level}`, number: true, cell: (row) => count(misses(row)[index]?.[1] ?? 0), sort: (row) => misses(row)[index]?.[1] ?? 0 })),
			{ head: 'module', cell: (row) => row.module ?? '' },
		],
	}) : null;
}

function parts(id, caption, rows, name, first) {
	return rows?.length ? table({
		id, caption, rows, total: rows.length,
		columns: [
			{ head: name, cell: first, sort: first },
			{ head: 'time', number: true, cell: (row) => (row.elapsed ? time(row.elapsed.value) : row.predicted ? time(row.predicted.value) : row.seconds !== undefined ? time(row.seconds) : ''), sort: (row) => row.elapsed?.value ?? 0 },
			{ head: 'cycles', cell: (row) => cycleBar(row.cycles)?.[0] ?? '' },
			{ head: 'memory, of peak %', number: true, cell: (row) => percent(figure(row.levels?.[row.levels.length - 1], 'utilisation')) },
		],
	}) : null;
}

function events(stat) {
	return stat.events?.length ? table({
		id: 'events-table', caption: 'Events', rows: stat.events, total: stat.events.length,
		columns: [
			{ head: 'Event', cell: (row) => `${row.name}${row.thread !== undefined ? ` (thread ${row.thread})` : ''}`, sort: (row) => row.name },
			{ head: 'count', number: true, cell: (row) => interval(figure(row, 'count')), sort: (row) => row.count?.value ?? NaN, tip: (row) => withOrigin(row, 'count') },
			{ head: 'PMU', cell: (row) => row.pmu ?? '' },
		],
	}) : null;
}

// The heat of a line is its share of what the last cache had to fetch, or of all accesses where it fetched nothing.
export function addHeat(stat) {
	const lines = stat.lines ?? [];
	const weight = (line) => Object.values(line.lines_moved ?? {}).at(-1) ?? 0;
	const total = lines.reduce((sum, line) => sum + weight(line), 0), accesses = lines.reduce((sum, line) => sum + line.loads + line.stores, 0);
	for (const line of lines)
		line.heat = total ? weight(line) / total : accesses ? (line.loads + line.stores) / accesses : 0;
}

export function statFacts(stat) {
	const facts = [];
	if (stat.elapsed)
		facts.push(['time', `${number(stat.elapsed.value)} s`, `${stat.elapsed.origin}: ${number(stat.elapsed.low)} … ${number(stat.elapsed.high)} s`]);
	if (stat.predicted)
		facts.push(['predicted user time', `${number(stat.predicted.value)} s`, stat.predicted.origin]);
	const memory = stat.levels?.at(-1);
	if (memory?.utilisation)
		facts.push(['memory bandwidth', `${percent(figure(memory, 'utilisation'))} % of peak`, memory.utilisation.origin]);
	return facts;
}

export function statSections(stat, sizes) {
	return [
		stat.doubtful ? note('DOUBTFUL: predicted and measured time differ by more than 30 %. The simulated machine does not fit this program.') : null,
		stat.levels ? section('levels', 'Memory levels', memoryChart(stat, sizes), levelRows(stat)) : null,
		stat.cycles ? section('cycles', 'Cycles', cycleBar(stat.cycles)) : null,
		stat.events ? section('events', 'Events', events(stat)) : null,
		stat.regions?.length ? section('regions', 'Regions', parts('regions-table', 'Marked regions', stat.regions, 'Region', (row) => `${row.name}${row.thread !== undefined ? ` (thread ${row.thread})` : ''}`)) : null,
		stat.threads?.length > 1 ? section('threads', 'Threads', parts('threads-table', 'Threads', stat.threads, 'Thread', (row) => String(row.thread))) : null,
		stat.lines?.length ? section('lines', 'Lines', places('lines-table', 'Source lines', stat.lines, 'Line', (row) => (row.file ? `${fileName(row.file)}:${row.line} (${row.inlined ?? row.function})` : row.function))) : null,
		stat.functions?.length ? section('functions', 'Functions', places('functions-table', 'Functions', stat.functions, 'Function', (row) => row.function)) : null,
		stat.objects?.length > 1 ? section('objects', 'Objects', places('objects-table', 'Variables, and heap memory by the call that allocated it', stat.objects, 'Object', (row) => row.name)) : null,
	];
}

// Formulas that validation trusts on this machine
export function trustTable(trust) {
	return table({
		id: 'trust-table', caption: 'Quantities from validated hardware events', rows: trust, total: trust.length,
		columns: [
			{ head: 'Quantity', cell: (row) => row.name ?? '', sort: (row) => row.name ?? '' },
			{ head: 'error %', number: true, cell: (row) => (typeof row.error === 'number' ? number(100 * row.error) : ''), sort: (row) => row.error },
			{ head: 'scope', cell: (row) => row.scope ?? '' },
			{ head: 'formula', cell: (row) => element('code', {}, row.formula ?? '') },
		],
	});
}

// Any other table of records
export function recordTable(id, caption, rows) {
	const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
	return table({ id, caption, rows, total: rows.length, columns: names.map((name) => ({ head: name.replaceAll('_', ' '), number: rows.every((row) => typeof row[name] === 'number'), cell: (row) => (typeof row[name] === 'number' ? number(row[name]) : Array.isArray(row[name]) ? interval(row[name]) : String(row[name] ?? '')), sort: (row) => row[name] })) });
}
