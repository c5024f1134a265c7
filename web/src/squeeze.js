// The recording of 'fathom squeeze': how much cache and bandwidth the program uses, and how slow it is with less. The data
// are those of 'fathom report --json'.
import { element, note, section } from './dom.js';
import { squeezeCurve } from './charts.js';
import { bytes, interval, number, time } from './format.js';
import { table } from './tables.js';

const figure = (object, name) => (object?.[name] ? [object[name].value, object[name].low, object[name].high] : object?.[`${name}_why`] ?? 'not available');
const between = (range, text) => (Array.isArray(range) ? (text(range[1]) === text(range[2]) ? text(range[2]) : `${text(range[1])} … ${text(range[2])}`) : 'n/a');
const why = (range) => (Array.isArray(range) ? '' : range);
const gigabytes = (value) => `${number(value)} GB/s`;

// One point has the full amounts; others have less of one resource.
const isWhole = (squeeze, point) => !(point.capacity_bytes < squeeze.level_bytes) && !(point.gbs < squeeze.memory_gbs);

export function squeezeFacts(squeeze) {
	const whole = squeeze.curve.find((point) => isWhole(squeeze, point)), capacity = figure(squeeze, 'capacity_in_use_bytes'), bandwidth = figure(squeeze, 'bandwidth_in_use_gbs');
	return [
		['with full capacity', whole?.time ? time(whole.time.value) : 'n/a', `${squeeze.runs} runs, back end ${squeeze.calibration.backend}`],
		[`${squeeze.level} in use`, between(capacity, bytes), why(capacity) || `of ${bytes(squeeze.level_bytes)}: less is slower`],
		['bandwidth in use', between(bandwidth, gigabytes), why(bandwidth) || (squeeze.memory_gbs ? `of ${gigabytes(squeeze.memory_gbs)}: less is slower` : '')],
	];
}

const KINDS = {
	sensitive: 'The program is slower with less cache or bandwidth than it uses.',
	'insensitive-small': 'The program has a small working set and does not get slower with less cache.',
	'insensitive-streaming': 'The program streams through its data and does not get slower with less cache.',
	insensitive: 'The program does not get slower with less cache.',
	inconclusive: 'Inconclusive: the slowdown is not decided.',
};

export function squeezeAnswer(squeeze) {
	const need = figure(squeeze, 'curve_need_bytes');
	return [
		element('p', {}, KINDS[squeeze.kind] ?? squeeze.kind, ` Degraded: slower by more than ${number(100 * squeeze.noticeable)} %.`),
		squeeze.region ? note(`Region ${squeeze.region}.`) : null,
		Array.isArray(need) ? note(`Estimate from the miss-ratio curve: ${between(need, bytes)}${squeeze.methods_agree === false ? '; the two methods disagree' : ''}.`) : null,
		squeeze.stopped ? note(`Not complete: ${squeeze.stopped}.`) : null,
		squeeze.calibration.statement ? note(`Calibration: ${squeeze.calibration.statement}.`) : null,
	];
}

const slowdown = { head: 'run time ratio', number: true, cell: (row) => interval(figure(row, 'slowdown')), sort: (row) => row.slowdown?.value ?? NaN };
const took = { head: 'time', number: true, cell: (row) => (row.time ? time(row.time.value) : 'n/a'), sort: (row) => row.time?.value ?? NaN };

function amounts(squeeze) {
	return [
		{ head: squeeze.level, cell: (row) => (row.capacity_bytes ? bytes(row.capacity_bytes) : ''), sort: (row) => row.capacity_bytes },
		{ head: 'GB/s', number: true, cell: (row) => (row.gbs ? number(row.gbs) : ''), sort: (row) => row.gbs },
	];
}

const tableOf = (id, caption, rows, columns) => (rows?.length ? table({ id, caption, rows, total: rows.length, columns }) : null);

export function squeezeSections(squeeze) {
	const less = (key, all) => squeeze.curve.filter((point) => point.slowdown && (isWhole(squeeze, point) || point[key] < all) && point[key] > 0);
	return [
		section('less', 'With less of one resource',
			squeezeCurve(`Time against ${squeeze.level}`, less('capacity_bytes', squeeze.level_bytes), 'capacity_bytes', figure(squeeze, 'capacity_in_use_bytes')),
			squeezeCurve('Time against bandwidth', less('gbs', squeeze.memory_gbs), 'gbs', figure(squeeze, 'bandwidth_in_use_gbs')),
			tableOf('less-table', 'With less of one resource', [...squeeze.curve].sort((a, b) => a.capacity_bytes - b.capacity_bytes || a.gbs - b.gbs), [...amounts(squeeze), took, slowdown])),
		squeeze.map?.length ? section('map', 'With less of both', tableOf('map-table', 'With less of both', squeeze.map, [...amounts(squeeze), slowdown, { head: 'predicted', number: true, cell: (row) => interval(figure(row, 'predicted')) }])) : null,
		squeeze.mappings?.length ? section('mappings', 'Ranks that share a cache', tableOf('mappings-table', 'Ranks that share a cache', squeeze.mappings, [
			{ head: 'ranks in a cache', cell: (row) => String(row.ranks_per_cache), sort: (row) => row.ranks_per_cache }, { head: 'caches', number: true, cell: (row) => String(row.caches) }, took, slowdown,
			{ head: `${squeeze.level} in use per rank`, number: true, cell: (row) => between(figure(row, 'capacity_in_use_bytes'), bytes) }, { head: 'GB/s in use per rank', number: true, cell: (row) => interval(figure(row, 'bandwidth_in_use_gbs')) }])) : null,
		squeeze.predictions?.length ? section('predictions', 'Predictions', tableOf('predictions-table', 'Predictions', squeeze.predictions, [{ head: 'asked', cell: (row) => row.asked }, ...amounts(squeeze), took, slowdown])) : null,
	];
}
