// Tables that can be sorted, and whose rows filter the panels.
import { element, replace } from './dom.js';
import { available, bytes, count, interval, lineName, number, percent, routineOf, time, valueOf } from './format.js';
import { onChange, state, toggle } from './state.js';

const FEW = 12;

// A column: head, title, number (is it one), cell(row) → text or node, sort(row) → what to sort by, text (without) → none
export function table({ id, caption, columns, rows, total, filter }) {
	let sorted = { column: -1, down: true }, all = false;
	const body = element('tbody'), more = element('button', { type: 'button', class: 'more' });
	const heads = columns.map((column, index) => element('th', { scope: 'col', class: column.number ? 'number' : '', title: column.title },
		column.sort ? element('button', { type: 'button', class: 'sort', onclick: () => sortBy(index) }, column.head) : column.head));
	const entries = rows.map((row, index) => ({ row, index, node: null }));

	function make(entry) {
		const key = filter ? filter.key(entry.row, entry.index) : null;
		const words = filter ? filter.words(entry.row, entry.index) : '';
		const choose = () => toggle(filter.kind, key, words);
		const cells = columns.map((column, index) => {
			const content = column.cell(entry.row, entry.index);
			const inside = index === 0 && filter ? element('button', { type: 'button', class: 'pick', 'aria-pressed': 'false', title: 'Show only this in the panels' }, content) : content;
			return index === 0 ? element('th', { scope: 'row' }, inside) : element('td', { class: column.number ? 'number' : '', title: column.tip?.(entry.row) }, inside);
		});
		const row = element('tr', filter ? { class: 'choosable', onclick: choose } : {}, cells);
		row.entryKey = key;
		return row;
	}

	function draw() {
		const shown = all ? entries : entries.slice(0, FEW);
		for (const entry of shown)
			entry.node ??= make(entry);
		replace(body, shown.map((entry) => entry.node));
		more.hidden = entries.length <= FEW;
		more.textContent = all ? 'Show fewer' : `Show all ${count(entries.length)}`;
		mark();
	}

	function mark() {
		if (!filter)
			return;
		for (const entry of entries)
			if (entry.node) {
				const chosen = state.filter[filter.kind]?.key === entry.node.entryKey;
				entry.node.classList.toggle('chosen', chosen);
				entry.node.querySelector('.pick').setAttribute('aria-pressed', String(chosen));
			}
	}

	function sortBy(index) {
		const value = columns[index].sort, down = sorted.column === index ? !sorted.down : Boolean(columns[index].number);
		const order = (a, b) => {
			const x = value(a.row), y = value(b.row);
			if (typeof x === 'string' || typeof y === 'string')
				return String(x).localeCompare(String(y));
			return (Number.isFinite(x) ? x : -Infinity) - (Number.isFinite(y) ? y : -Infinity);
		};
		sorted = { column: index, down };
		entries.sort((a, b) => (down ? -order(a, b) : order(a, b)) || a.index - b.index);
		heads.forEach((head, i) => (i === index ? head.setAttribute('aria-sort', down ? 'descending' : 'ascending') : head.removeAttribute('aria-sort')));
		draw();
	}

	more.addEventListener('click', () => {
		all = !all;
		draw();
	});
	onChange((what) => {
		if (what.has('filter'))
			mark();
	});
	draw();
	return element('div', { class: 'table', id }, element('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': caption },
		element('table', {}, element('caption', {}, caption, total > rows.length ? `: the first ${count(rows.length)} of ${count(total)}` : ''), element('thead', {}, element('tr', {}, heads)), body)), more);
}

// A share as a bar behind its number
export function bar(figure) {
	if (!available(figure))
		return element('span', { class: 'none', title: figure }, 'n/a');
	return element('span', { class: 'bar-cell', style: { '--share': `${Math.min(100, Math.max(0, 100 * figure[0]))}%` } }, percent(figure));
}

const withWhy = (figure, text) => (available(figure) ? text : element('span', { class: 'none', title: figure }, 'n/a'));

// Shares of levels as one bar; the numbers are in its title and for screen readers
export function levelBar(served, classes) {
	const known = served.levels.map((figure, index) => ({ figure, index, name: classes[index] })).filter(({ figure }) => available(figure) && figure[0] > 0);
	const words = known.map(({ figure, name }) => `${name} ${percent(figure)} %`).join(', ');
	if (!known.length)
		return element('span', { class: 'none', title: typeof served.levels[0] === 'string' ? served.levels[0] : 'no levels' }, 'n/a');
	return element('span', { class: 'level-bar', role: 'img', 'aria-label': words, title: words }, known.map(({ figure, index }) => element('i', { style: { width: `${100 * figure[0]}%`, background: `var(--level-${Math.min(index, 5)})` } })));
}

export function servedColumns(data) {
	const last = data.levels.length - 1, memory = data.classes.indexOf(data.levels[last]);
	const columns = [
		{ head: 'share %', number: true, title: `Share of references, by processor time (${data.origin})`, cell: (row) => bar(row.served.share), sort: (row) => valueOf(row.served.share) },
		{ head: 'stores %', number: true, cell: (row) => withWhy(row.served.stores, percent(row.served.stores)), sort: (row) => valueOf(row.served.stores) },
	];
	if (data.classes.length)
		columns.push({ head: 'served by', title: `Levels of the memory hierarchy (${data.origin})`, cell: (row) => levelBar(row.served, data.classes) });
	if (memory >= 0)
		columns.push({ head: `${data.levels[last]} %`, number: true, cell: (row) => withWhy(row.served.levels[memory], percent(row.served.levels[memory])), sort: (row) => valueOf(row.served.levels[memory]) });
	columns.push({ head: data.cost_unit, number: true, title: `Mean cost of a load. ${data.cost_origin ?? ''}`, cell: (row) => withWhy(row.served.cost, interval(row.served.cost)), sort: (row) => valueOf(row.served.cost) });
	return columns;
}

export function levelKeys(data) {
	return element('p', { class: 'keys' }, data.classes.map((name, index) => element('span', { class: 'key' }, element('i', { class: 'dot', style: { '--colour': `var(--level-${Math.min(index, 5)})` } }), name)));
}

const orderCell = (row) => element('span', { title: row.order_reason }, row.order);

export function objectTable(data) {
	return table({
		id: 'objects-table', caption: 'Objects', rows: data.objects, total: data.totals.objects,
		filter: { kind: 'object', key: (_, index) => index, words: (row) => row.name },
		columns: [
			{ head: 'Object', cell: (row) => row.name, sort: (row) => row.name },
			...servedColumns(data),
			{ head: 'bytes', number: true, cell: (row) => (row.bytes ? bytes(row.bytes) : ''), sort: (row) => row.bytes },
			{ head: 'kind', cell: (row) => [row.kind, row.type].filter(Boolean).join(' '), sort: (row) => row.kind },
			{ head: 'times', number: true, title: 'Allocations', cell: (row) => (row.count > 1 ? count(row.count) : ''), sort: (row) => row.count },
			{ head: 'lifetime', number: true, cell: (row) => `${time(row.began, row.ended || 1)} – ${time(row.ended, row.ended || 1)}`, sort: (row) => row.ended - row.began },
			{ head: 'order', cell: orderCell, sort: (row) => row.order },
			{ head: 'read only', cell: (row) => row.read_only, sort: (row) => row.read_only },
			{ head: 'threads', cell: (row) => `${row.use}${row.divided ? ', divided' : ''}`, sort: (row) => row.use },
			{ head: 'allocated at', cell: (row) => element('span', { class: 'site' }, row.site ?? row.module ?? '') },
		],
	});
}

export function lineTable(data) {
	return table({
		id: 'lines-table', caption: 'Source lines', rows: data.lines, total: data.totals.lines,
		filter: { kind: 'line', key: (_, index) => index, words: lineName },
		columns: [
			{ head: 'Line', cell: lineName, sort: lineName },
			{ head: 'routine', cell: (row) => element('span', { title: row.chain }, routineOf(row)), sort: routineOf },
			...servedColumns(data),
			{ head: 'mostly', title: 'The object with the most references', cell: (row) => data.objects[row.object]?.name ?? '', sort: (row) => data.objects[row.object]?.name ?? '' },
			{ head: 'order', cell: orderCell, sort: (row) => row.order },
		],
	});
}

export function routineTable(data) {
	return table({
		id: 'routines-table', caption: 'Routines', rows: data.routines, total: data.totals.routines,
		filter: { kind: 'routine', key: (row) => row.name, words: (row) => row.name },
		columns: [
			{ head: 'Routine', cell: (row) => row.name, sort: (row) => row.name },
			...servedColumns(data),
			{ head: 'with callees %', number: true, cell: (row) => withWhy(row.inclusive, percent(row.inclusive)), sort: (row) => valueOf(row.inclusive) },
			{ head: 'module', cell: (row) => row.module ?? '', sort: (row) => row.module ?? '' },
		],
	});
}

export function threadTable(data) {
	return table({
		id: 'threads-table', caption: 'Threads', rows: data.threads, total: data.totals.threads,
		filter: { kind: 'thread', key: (row) => row.index, words: (row) => `${row.thread} ${row.name}` },
		columns: [
			{ head: 'Thread', cell: (row) => `${row.thread} ${row.name}`, sort: (row) => row.thread },
			...servedColumns(data),
			{ head: 'process', number: true, cell: (row) => String(row.process), sort: (row) => row.process },
		],
	});
}

// Use of objects by threads
export function sharingTable(data) {
	const objects = [...new Set(data.sharing.map((row) => row.object))].slice(0, 24), threads = data.threads.slice(0, 16);
	if (threads.length < 2 || !objects.length)
		return null;
	const find = new Map(data.sharing.map((row) => [`${row.object} ${row.thread}`, row]));
	return element('div', { class: 'table' }, element('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Threads and objects' }, element('table', {},
		element('caption', {}, 'Threads × objects: share of all references, %'),
		element('thead', {}, element('tr', {}, element('th', { scope: 'col' }, 'Object'), element('th', { scope: 'col' }, 'use'), threads.map((thread) => element('th', { scope: 'col', class: 'number' }, `${thread.thread} ${thread.name}`)))),
		element('tbody', {}, objects.map((object) => element('tr', {}, element('th', { scope: 'row' }, data.objects[object]?.name ?? '?'), element('td', {}, data.objects[object]?.use ?? ''),
			threads.map((thread) => {
				const row = find.get(`${object} ${thread.index}`);
				return element('td', { class: `number${row && valueOf(row.stores) > 0 ? ' writes' : ''}`, title: row ? `stores: ${percent(row.stores)} %` : null }, row ? percent(row.share) : '');
			})))))));
}

const lineCell = (data) => (row) => (data.lines[row.line] ? `${lineName(data.lines[row.line])} ${routineOf(data.lines[row.line])}` : '');
const inMilliseconds = (figure) => withWhy(figure, `${interval(figure, 1e3)} ms`);

// Regions: duration of an instance, and the most observed line; detected iterations are regions, too
export function regionTable(data) {
	const folded = new Map(data.folded.map((row) => [row.name, row])), simulated = data.origin === 'simulated';
	const marked = data.regions.map((row) => ({ ...folded.get(row.name), ...row })), found = data.folded.filter((row) => row.found && row.served);
	const rows = [...marked, ...found.map((row) => ({ ...row, name: `${row.name}, found`, seconds: NaN, length: row.length }))];
	const median = (row) => data.folded.find((one) => one.name === row.name || `${one.name}, found` === row.name);
	return rows.length ? table({
		id: 'regions-table', caption: 'Regions', rows, total: rows.length,
		columns: [
			{ head: 'Region', cell: (row) => row.name, sort: (row) => row.name },
			{ head: 'instances', number: true, cell: (row) => count(row.instances), sort: (row) => row.instances },
			{ head: 'excluded', number: true, title: 'Instances of unusual duration', cell: (row) => (row.set_aside ? count(row.set_aside) : ''), sort: (row) => row.set_aside },
			simulated ? { head: 'references', number: true, title: 'Median of an instance', cell: (row) => withWhy(median(row)?.length, interval(median(row)?.length)), sort: (row) => valueOf(median(row)?.length) }
				: { head: 'instance time', number: true, title: 'Median wall-clock time', cell: (row) => inMilliseconds(median(row)?.seconds), sort: (row) => valueOf(median(row)?.seconds) },
			{ head: 'most observed line', cell: lineCell(data), sort: lineCell(data) },
			{ head: 'of it %', number: true, cell: (row) => (row.line >= 0 ? number(100 * row.line_share, 2) : ''), sort: (row) => row.line_share },
			...servedColumns(data),
		],
	}) : null;
}

export function phaseTable(data) {
	return data.phases.length ? table({
		id: 'phases-table', caption: 'Phases of folded regions', rows: data.phases, total: data.phases.length,
		filter: { kind: 'line', key: (row) => row.line, words: lineCell(data) },
		columns: [
			{ head: 'Phase', cell: (row) => `${row.region} ${row.phase + 1}${row.mode ? ` (kind ${row.mode + 1})` : ''}` },
			{ head: 'place %', number: true, cell: (row) => `${(100 * row.begin).toFixed(0)}–${(100 * row.end).toFixed(0)}`, sort: (row) => row.begin },
			{ head: 'takes', number: true, cell: (row) => inMilliseconds(row.seconds), sort: (row) => valueOf(row.seconds) },
			{ head: 'most observed line', cell: lineCell(data), sort: lineCell(data) },
			{ head: 'of it %', number: true, cell: (row) => (row.line >= 0 ? number(100 * row.line_share, 2) : ''), sort: (row) => row.line_share },
			...servedColumns(data),
		],
	}) : null;
}

export function workingSetTable(data) {
	return data.working_sets?.length ? table({
		id: 'sets-table', caption: 'Working sets: bytes touched in one pass', rows: data.working_sets, total: data.working_sets.length,
		columns: [
			{ head: 'Working set', cell: (row) => row.name, sort: (row) => row.name },
			{ head: 'bytes', number: true, cell: (row) => (bytes(row.bytes[1]) === bytes(row.bytes[2]) ? bytes(row.bytes[2]) : `${bytes(row.bytes[1])}–${bytes(row.bytes[2])}`), sort: (row) => row.size },
			{ head: 'exceeds', cell: (row) => row.exceeds },
			{ head: 'fits into', cell: (row) => row.fits },
			{ head: 'GB/s', number: true, title: 'Average bandwidth of its streams over a pass, if all streams are in order', cell: (row) => withWhy(row.gbs, interval(row.gbs)), sort: (row) => valueOf(row.gbs) },
		],
	}) : null;
}

export function streamTable(data) {
	if (!data.streams?.length)
		return null;
	return table({
		id: 'streams-table', caption: 'Streams: access order of lines in objects', rows: data.streams, total: data.streams.length,
		filter: { kind: 'stream', key: (_, index) => index, words: (row) => `${data.objects[row.object]?.name ?? '?'} by ${row.line < 0 ? '?' : lineName(data.lines[row.line])}` },
		columns: [
			{ head: 'Object', cell: (row) => data.objects[row.object]?.name ?? '?', sort: (row) => data.objects[row.object]?.name ?? '' },
			{ head: 'line', cell: (row) => (data.lines[row.line] ? lineName(data.lines[row.line]) : ''), sort: (row) => row.line },
			{ head: 'region', cell: (row) => row.region ?? '', sort: (row) => row.region ?? '' },
			{ head: 'phase', number: true, cell: (row) => (row.region ? String(row.phase + 1) : ''), sort: (row) => row.phase },
			{ head: 'of', cell: (row) => row.kind, sort: (row) => row.kind },
			{ head: 'direction', cell: (row) => element('span', { title: row.reason }, row.direction), sort: (row) => row.direction },
			{ head: 'confidence', number: true, cell: (row) => number(row.confidence, 2), sort: (row) => row.confidence },
			{ head: 'stride, bytes', number: true, cell: (row) => withWhy(row.stride, interval(row.stride)), sort: (row) => valueOf(row.stride) },
			{ head: 'covers %', number: true, cell: (row) => withWhy(row.coverage, percent(row.coverage)), sort: (row) => valueOf(row.coverage) },
			{ head: 'GB/s', number: true, cell: (row) => withWhy(row.gbs, interval(row.gbs)), sort: (row) => valueOf(row.gbs) },
			{ head: 'together', title: 'Streams with the same number advance together', number: true, cell: (row) => (row.together ? String(row.together) : ''), sort: (row) => row.together },
			...servedColumns(data),
		],
	});
}
