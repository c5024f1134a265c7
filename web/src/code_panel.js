// Lines over time: routines as lanes, their lines in the order of the source.
import { css } from './dom.js';
import { blend, pack, routineColour } from './colour.js';
import { fileName, routineOf } from './format.js';
import { PointCanvas, pointSize, FAINT, GUTTER } from './canvas.js';
import { noLine } from './points.js';

const LANES = 9, HEIGHT = 190, STRIP = 22;

// Routines with the most samples of this timeline each have a lane; within it lines are rows from the beginning of the
// file on.
function makeLanes(lines, points) {
	const byRoutine = new Map(), seen = new Uint32Array(lines.length);
	for (let i = 0; i < points.count; i++)
		if (points.line[i] < lines.length)
			seen[points.line[i]]++;
	lines.forEach((line, index) => {
		if (!seen[index])
			return;
		const name = routineOf(line);
		if (!byRoutine.has(name))
			byRoutine.set(name, { name, share: 0, lines: [] });
		const lane = byRoutine.get(name);
		lane.share += seen[index];
		lane.lines.push(index);
	});
	const sorted = [...byRoutine.values()].sort((a, b) => b.share - a.share);
	const lanes = sorted.slice(0, LANES);
	lanes.forEach((lane, index) => { lane.colour = index; });
	if (sorted.length > LANES)
		lanes.push({ name: `${sorted.length - LANES} other routines`, share: 0, lines: sorted.slice(LANES).flatMap((lane) => lane.lines), colour: -1 });
	const order = (a, b) => (lines[a].file || '').localeCompare(lines[b].file || '') || lines[a].line - lines[b].line;
	for (const lane of lanes) {
		lane.most = lane.lines.reduce((most, line) => (seen[line] > seen[most] ? line : most), lane.lines[0]);
		lane.lines.sort(order);
	}
	return lanes;
}

export class CodePanel extends PointCanvas {
	constructor(data, points) {
		super(HEIGHT, 'Source lines over time: one lane for each routine');
		this.lines = data.lines;
		this.lanes = makeLanes(data.lines, points);
		const room = HEIGHT - STRIP - 4, unit = room / Math.max(1, this.lanes.length);
		this.top = new Float32Array(data.lines.length + 1);
		this.laneOf = new Int16Array(data.lines.length + 1).fill(-1);
		this.lanes.forEach((lane, index) => {
			lane.y = STRIP + 4 + index * unit;
			lane.height = unit;
			lane.lines.forEach((line, row) => {
				this.top[line] = lane.y + 4 + ((row + 0.5) / lane.lines.length) * (unit - 8);
				this.laneOf[line] = index;
			});
		});
	}

	laneColour(index) {
		const lane = this.lanes[index];
		return lane.colour < 0 ? css('--faint') : routineColour(lane.colour);
	}

	draw(points, begin, end) {
		const muted = css('--muted'), rule = css('--rule');
		this.clear();
		this.lanes.forEach((lane, index) => {
			const middle = lane.y + lane.height / 2, most = this.lines[lane.most];
			this.context.fillStyle = rule;
			this.context.fillRect(this.plot.left, lane.y, this.plot.width, 1);
			this.context.fillStyle = this.laneColour(index);
			this.context.fillRect(GUTTER - 8, lane.y + 3, 4, lane.height - 4);
			const label = most && most.file && lane.colour >= 0 ? ` [${most.line}]` : '';
			this.text(`${lane.name}${label}`, GUTTER - 14, middle, { colour: muted, align: 'right', width: GUTTER - 18 });
		});
		this.drawPoints(points, begin, end);
		this.drawStrip(points, begin, end);
	}

	drawPoints(points, begin, end) {
		const low = points.first(begin), high = points.first(end);
		const colours = this.lanes.map((_, index) => pack(this.laneColour(index)));
		const faint = pack(blend(css('--lane'), css('--muted'), FAINT));
		this.points(pointSize(high - low), (put, width) => {
			const scale = width / (end - begin) / 4294967295, from = begin * 4294967295;
			for (const shown of [0, 1])
				for (let i = low; i < high; i++) {
					const line = points.line[i];
					if (points.shown[i] !== shown || line === noLine || line >= this.lines.length)
						continue;
					put(Math.floor((points.time[i] - from) * scale), Math.round(this.top[line] * this.ratio), shown ? colours[this.laneOf[line]] : faint);
				}
		});
	}

	// The routine with the most samples, and its most observed line: the phases.
	drawStrip(points, begin, end) {
		const bins = Math.max(1, Math.floor(this.plot.width / 3)), low = points.first(begin), high = points.first(end);
		const sums = new Float32Array(bins * this.lanes.length);
		for (let i = low; i < high; i++) {
			const lane = points.line[i] < this.lines.length ? this.laneOf[points.line[i]] : -1;
			if (lane >= 0 && points.shown[i])
				sums[Math.min(bins - 1, Math.floor(((points.time[i] / 4294967295 - begin) / (end - begin)) * bins)) * this.lanes.length + lane] += points.weights[points.weight[i]];
		}
		let run = { lane: -1, from: 0 };
		const flush = (to) => {
			if (run.lane < 0)
				return;
			const x = this.plot.left + (run.from / bins) * this.plot.width, width = ((to - run.from) / bins) * this.plot.width;
			this.context.fillStyle = this.laneColour(run.lane);
			this.context.fillRect(x, 2, Math.max(1, width - 0.5), STRIP - 4);
			if (width > 60) {
				const lane = this.lanes[run.lane], line = this.lines[lane.most];
				this.text(line && line.file && lane.colour >= 0 ? `${lane.name} [${fileName(line.file)}:${line.line}]` : lane.name, x + width / 2, STRIP / 2, { colour: css('--on-routine'), align: 'center', width: width - 8, size: 11 });
			}
		};
		for (let bin = 0; bin <= bins; bin++) {
			let best = -1, most = 0;
			for (let lane = 0; bin < bins && lane < this.lanes.length; lane++)
				if (sums[bin * this.lanes.length + lane] > most) {
					most = sums[bin * this.lanes.length + lane];
					best = lane;
				}
			if (best !== run.lane || bin === bins) {
				flush(bin);
				run = { lane: best, from: bin };
			}
		}
	}

	yOf(points, i) {
		return points.line[i] < this.lines.length ? this.top[points.line[i]] : -1;
	}
}
