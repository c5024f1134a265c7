// The machine: latency against the size of the data (its staircase) with the program's working sets, and the share of
// references that miss a cache of any size.
import { css, element, note } from './dom.js';
import { levelColour } from './colour.js';
import { available, bytes, number, valueOf } from './format.js';
import { onChange } from './state.js';

const HEIGHT = 300;
const chartAxis = (options) => ({ stroke: () => css('--muted'), grid: { stroke: () => css('--rule'), width: 1 }, ticks: { stroke: () => css('--rule'), width: 1 }, font: '11px system-ui, sans-serif', labelFont: '11px system-ui, sans-serif', ...options });

// Sizes in bytes are drawn as their logarithm, so that ticks fall on powers of two.
const sizeAxis = (label = 'size of the data') => chartAxis({ size: 42, values: (_, ticks) => ticks.map((tick) => (Number.isInteger(tick) ? bytes(2 ** tick).replace('.0', '') : '')), incrs: [1, 2, 3, 4, 5], space: 56, label, labelSize: 16 });

// A chart that is redrawn if the page's width or theme changes.
function chart(label, options, columns) {
	const node = element('div', { class: 'chart', role: 'img', 'aria-label': label });
	let plot = null;
	const draw = () => {
		if (node.clientWidth < 100)
			return;
		plot?.destroy();
		plot = new uPlot({ width: Math.floor(node.clientWidth), height: HEIGHT, padding: [26, 16, 0, 0], cursor: { show: true, drag: { x: false, y: false }, points: { show: true } }, legend: { show: false }, ...options() }, columns, node);
	};
	onChange((what) => {
		if (what.has('theme') || what.has('size') || what.has('start'))
			draw();
	});
	return node;
}

// Vertical marks: levels as broken lines with names above, working sets as triangles on the axis with names that do not
// lie over each other.
function marks(levels, sets) {
	return {
		hooks: {
			draw: [(plot) => {
				const { ctx: context } = plot, ratio = devicePixelRatio || 1, { left, top, width, height } = plot.bbox;
				const at = (size) => plot.valToPos(Math.log2(size), 'x', true);
				context.save();
				context.font = `${11 * ratio}px system-ui, sans-serif`;
				levels.forEach((level, index) => {
					const x = at(level.size);
					if (!(x >= left && x <= left + width))
						return;
					context.strokeStyle = levelColour(index);
					context.fillStyle = levelColour(index);
					context.setLineDash([5 * ratio, 4 * ratio]);
					context.beginPath();
					context.moveTo(x, top);
					context.lineTo(x, top + height);
					context.stroke();
					context.textAlign = 'center';
					context.fillText(level.name, x, top - 8 * ratio);
				});
				context.setLineDash([]);
				const rows = [], labels = [];
				for (const set of [...sets].sort((a, b) => a.size - b.size)) {
					const x = at(set.size);
					if (!(x >= left && x <= left + width))
						continue;
					const words = `${set.name} ${bytes(set.size)}`, wide = context.measureText(words).width, flip = x + wide + 14 * ratio > left + width;
					const from = flip ? x - wide - 8 * ratio : x - 2 * ratio, to = from + wide + 14 * ratio;
					let row = 0;
					while (rows.some((other) => other.row === row && from < other.to && to > other.from))
						row++;
					rows.push({ row, from, to });
					const y = top + height - (14 + row * 15) * ratio;
					context.fillStyle = css('--accent');
					context.strokeStyle = css('--accent');
					context.beginPath();
					context.moveTo(x, top + height);
					context.lineTo(x, y);
					context.stroke();
					context.beginPath();
					context.arc(x, y, 3 * ratio, 0, 7);
					context.fill();
					labels.push({ words, x: x + (flip ? -7 : 7) * ratio, y, wide, flip });
				}
				// names last, so that no mark crosses a name
				for (const { words, x, y, wide, flip } of labels) {
					context.fillStyle = css('--card');
					context.fillRect((flip ? x - wide : x) - 2 * ratio, y - 6 * ratio, wide + 4 * ratio, 13 * ratio);
					context.textAlign = flip ? 'right' : 'left';
					context.fillStyle = css('--text');
					context.fillText(words, x, y + 4 * ratio);
				}
				context.restore();
			}],
		},
	};
}

// Rows of several curves over the sizes of all.
function join(curves) {
	const sizes = [...new Set(curves.flatMap((curve) => curve.points.map((point) => point.bytes)))].sort((a, b) => a - b);
	const columns = [sizes.map(Math.log2)];
	for (const curve of curves) {
		const by = new Map(curve.points.map((point) => [point.bytes, point.ns]));
		for (const part of [0, 2, 1])
			columns.push(sizes.map((size) => (by.has(size) ? by.get(size)[part] : null)));
	}
	return columns;
}

// Sets of nearly the same size share a mark, because overlapping names cannot be read.
export function joinSets(sets) {
	const groups = [];
	for (const set of [...sets].sort((a, b) => a.size - b.size)) {
		const last = groups.at(-1);
		if (last && Math.log2(set.size / last.size) < 0.12)
			last.names.push(set.name);
		else
			groups.push({ size: set.size, names: [set.name] });
	}
	return groups.map(({ size, names }) => ({ size, name: names.length > 3 ? `${names.slice(0, 2).join(', ')} and ${names.length - 2} more:` : `${names.join(', ')}:` }));
}

const levelSize = (level) => valueOf(level.effective) || level.advertised;

export function staircase(machine, sets) {
	const curves = machine.curves.filter((curve) => curve.points.length > 1);
	const levels = machine.levels.filter((level) => levelSize(level) > 0).map((level) => ({ name: level.name, size: levelSize(level) }));
	if (!curves.length)
		return null;
	const options = () => {
		const colours = [css('--routine-0'), css('--routine-1'), css('--routine-4')];
		const series = [{}], bands = [];
		curves.forEach((curve, index) => {
			series.push({ label: curve.described ? 'described' : `${curve.pages} pages`, scale: 'ns', stroke: colours[index], width: 2, spanGaps: true, points: { show: false } });
			series.push({ scale: 'ns', stroke: 'transparent', spanGaps: true, points: { show: false } }, { scale: 'ns', stroke: 'transparent', spanGaps: true, points: { show: false } });
			bands.push({ series: [3 * index + 2, 3 * index + 3], fill: `${colours[index]}33` });
		});
		return { scales: { x: { time: false }, ns: { distr: 3 } }, axes: [sizeAxis(), chartAxis({ scale: 'ns', size: 64, label: 'latency of a load, ns', labelSize: 16, values: (_, ticks) => ticks.map((tick) => (tick === null ? '' : number(tick))) })], series, bands, plugins: [marks(levels, joinSets(sets))] };
	};
	return element('figure', {}, chart('Latency of a load against the size of the data, with the caches of the machine and the working sets of the program', options, join(curves)),
		element('figcaption', {}, curves.map((curve, index) => element('span', { class: 'key' }, element('i', { style: { '--colour': `var(--routine-${[0, 1, 4][index]})` } }), curve.described ? 'as the simulated machine is described' : `${curve.pages} pages, measured, with 95 % interval`)),
			element('span', { class: 'key' }, element('i', { class: 'dot', style: { '--colour': 'var(--accent)' } }), 'working sets of the program')));
}

// Run time ratio with less of a resource; the amount in use is marked.
export function squeezeCurve(label, points, key, used) {
	const bySize = key === 'capacity_bytes', rows = [...points].sort((a, b) => a[key] - b[key]);
	if (rows.length < 2)
		return null;
	const at = rows.map((row) => (bySize ? Math.log2(row[key]) : row[key]));
	const columns = [at, ...['value', 'high', 'low'].map((part) => rows.map((row) => row.slowdown[part]))];
	const options = () => ({
		scales: { x: { time: false }, y: { range: (_, low, high) => [Math.min(0.9, low), high * 1.05] } },
		axes: [bySize ? sizeAxis('size of the cache') : chartAxis({ size: 42, label: 'bandwidth, GB/s', labelSize: 16 }), chartAxis({ size: 64, label: 'times as long', labelSize: 16 })],
		series: [{}, { stroke: css('--routine-0'), width: 2, points: { show: true, size: 5 } }, { stroke: 'transparent', points: { show: false } }, { stroke: 'transparent', points: { show: false } }],
		bands: [{ series: [2, 3], fill: `${css('--routine-0')}33` }],
		plugins: bySize && available(used) ? [marks([], [{ name: 'in use: up to', size: used[2] }])] : [],
	});
	return element('figure', {}, chart(label, options, columns), element('figcaption', {}, `${label}, relative to the run time with full capacity; band: 95 % interval where there is one.`));
}

// Speed-up against the number of threads, beside the ideal one.
export function speedupCurve(points) {
	if (points.length < 2)
		return null;
	const threads = points.map((point) => point.threads), columns = [threads, threads, ...[0, 2, 1].map((part) => points.map((point) => point.speedup[part]))];
	const options = () => ({
		scales: { x: { time: false, range: (_, __, high) => [0, high * 1.03] }, y: { range: (_, __, high) => [0, high * 1.05] } },
		axes: [chartAxis({ size: 42, label: 'threads', labelSize: 16 }), chartAxis({ size: 64, label: 'speed-up', labelSize: 16 })],
		series: [{}, { stroke: css('--routine-1'), dash: [4, 4], points: { show: false } }, { stroke: css('--routine-0'), width: 2, points: { show: true, size: 6 } }, { stroke: 'transparent', points: { show: false } }, { stroke: 'transparent', points: { show: false } }],
		bands: [{ series: [3, 4], fill: `${css('--routine-0')}33` }],
	});
	return element('figure', {}, chart('Speed-up by number of threads', options, columns), element('figcaption', {}, 'Speed-up by number of threads; dashed: ideal; band: 95 % interval.'));
}

export function missCurve(curve) {
	const sizes = curve.sizes_bytes, levels = (curve.caches ?? []).map((cache) => ({ name: cache.name, size: cache.bytes }));
	const sets = (curve.working_sets ?? []).map((set) => ({ name: 'working set', size: set.to_bytes }));
	const columns = [sizes.map(Math.log2), ...['value', 'high', 'low'].map((part) => curve.miss_ratio.map((point) => point[part]))];
	const options = () => ({
		scales: { x: { time: false }, y: { range: (_, low, high) => [0, Math.min(1, Math.max(0.05, high * 1.1))] } },
		axes: [sizeAxis(), chartAxis({ size: 64, label: 'references that miss', labelSize: 16, values: (_, ticks) => ticks.map((tick) => `${number(tick * 100)} %`) })],
		series: [{}, { stroke: css('--routine-0'), width: 2, points: { show: false } }, { stroke: 'transparent', points: { show: false } }, { stroke: 'transparent', points: { show: false } }],
		bands: [{ series: [2, 3], fill: `${css('--routine-0')}33` }],
		plugins: [marks(levels, sets)],
	});
	return element('figure', {}, chart('Share of references that miss a cache of any size', options, columns),
		element('figcaption', {}, `Fully associative cache with least recently used lines replaced; ${curve.origin}, band: 95 % interval.`),
		curve.remark ? note(curve.remark) : null);
}

export function levelTable(machine) {
	const cell = (figure, unit) => element('td', { class: 'number' }, figure === undefined ? '' : available(figure) ? `${unit === 'bytes' ? bytes(figure[0]) : number(figure[0])}` : 'n/a');
	if (!machine.levels.some((level) => level.ns))
		return null;
	return element('div', { class: 'scroll' }, element('table', { class: 'plain' },
		element('caption', {}, 'Levels of the machine'),
		element('thead', {}, element('tr', {}, ['Level', 'advertised', 'effective', 'latency, ns', 'cycles'].map((head, index) => element('th', { scope: 'col', class: index ? 'number' : '' }, head)))),
		element('tbody', {}, machine.levels.map((level) => element('tr', {}, element('th', { scope: 'row' }, level.name), element('td', { class: 'number' }, level.advertised ? bytes(level.advertised) : ''), level.advertised ? cell(level.effective, 'bytes') : element('td'), cell(level.ns), cell(level.cycles))))));
}
