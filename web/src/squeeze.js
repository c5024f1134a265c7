// What 'fathom squeeze' recorded: how much cache and bandwidth the program uses, and how slow it is with less. The data
// are those of 'fathom report --json'.
import { element, note, section } from './dom.js';
import { squeezeCurve } from './charts.js';
import { bytes, interval, number, time } from './format.js';
import { table } from './tables.js';

const figure = (object, name) => (object?.[name] ? [object[name].value, object[name].low, object[name].high] : object?.[`${name}_why`] ?? 'not available');
const between = (range, text) => (Array.isArray(range) ? (text(range[1]) === text(range[2]) ? text(range[2]) : `${text(range[1])} … ${text(range[2])}`) : 'n/a');
const why = (range) => (Array.isArray(range) ? '' : range);
const gigabytes = (value) => `${number(value)} GB/s`;

// Everything is there in one of the points; others have less of one resource.
const isWhole = (squeeze, point) => !(point.capacity_bytes < squeeze.level_bytes) && !(point.gbs < squeeze.memory_gbs);

export function squeezeFacts(squeeze) {
	const whole = squeeze.curve.find((point) => isWhole(squeeze, point)), capacity = figure(squeeze, 'capacity_in_use_bytes'), bandwidth = figure(squeeze, 'bandwidth_in_use_gbs');
	return [
		['with everything', whole?.time ? time(whole.time.value) : 'n/a', `${squeeze.runs} runs, back end ${squeeze.calibration.backend}`],
		[`${squeeze.level} in use`, between(capacity, bytes), why(capacity) || `of ${bytes(squeeze.level_bytes)}: with less it is slower`],
		['bandwidth in use', between(bandwidth, gigabytes), why(bandwidth) || (squeeze.memory_gbs ? `of ${gigabytes(squeeze.memory_gbs)}: with less it is slower` : '')],
	];
}

const KINDS = {
	sensitive: 'With less cache or bandwidth than it uses, the program is slower.',
	'insensitive-small': 'The program is small: it does not get slower with less of the cache.',
	'insensitive-streaming': 'The program streams: it has no use for the cache, and does not get slower with less of it.',
	insensitive: 'The program does not get slower with less of the cache.',
	inconclusive: 'Whether the program gets slower is not decided.',
};

export function squeezeAnswer(squeeze) {
	const need = figure(squeeze, 'curve_need_bytes');
	return [
		element('p', {}, KINDS[squeeze.kind] ?? squeeze.kind, ` Slower by more than ${number(100 * squeeze.noticeable)} % counts.`),
		squeeze.region ? note(`Of the region ${squeeze.region}.`) : null,
		Array.isArray(need) ? note(`The miss-ratio curve tells ${between(need, bytes)}${squeeze.methods_agree === false ? '; the two methods disagree' : ''}.`) : null,
		squeeze.stopped ? note(`Not complete: ${squeeze.stopped}.`) : null,
		squeeze.calibration.statement ? note(`Calibration: ${squeeze.calibration.statement}.`) : null,
	];
}

const slowdown = { head: 'times as long', number: true, cell: (row) => interval(figure(row, 'slowdown')), sort: (row) => row.slowdown?.value ?? NaN };
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
			{ head: `${squeeze.level} in use of each`, number: true, cell: (row) => between(figure(row, 'capacity_in_use_bytes'), bytes) }, { head: 'GB/s in use of each', number: true, cell: (row) => interval(figure(row, 'bandwidth_in_use_gbs')) }])) : null,
		squeeze.predictions?.length ? section('predictions', 'Predictions', tableOf('predictions-table', 'Predictions', squeeze.predictions, [{ head: 'asked', cell: (row) => row.asked }, ...amounts(squeeze), took, slowdown])) : null,
	];
}
