// The points of a timeline: columns of small integers, sorted by time. report/html_points.c writes them.
const COST_OCTAVES = 16, COST_STEPS = 254, WEIGHT_STEPS = 16, NONE = 0xffff;

function decode(text, Kind) {
	const binary = atob(text), data = new Uint8Array(binary.length);
	for (let i = 0; i < binary.length; i++)
		data[i] = binary.charCodeAt(i);
	return new Kind(data.buffer);
}

export class Points {
	constructor(raw) {
		this.count = raw.count;
		this.total = raw.total;
		this.time = decode(raw.time, Uint32Array);
		this.place = decode(raw.place, Uint32Array);
		this.lane = decode(raw.lane, Uint8Array);
		this.object = decode(raw.object, Uint16Array);
		this.line = decode(raw.line, Uint16Array);
		this.thread = decode(raw.thread, Uint16Array);
		this.cost = decode(raw.cost, Uint8Array);
		this.flags = decode(raw.flags, Uint8Array);
		this.weight = decode(raw.weight, Uint8Array);
		this.shown = new Uint8Array(this.count).fill(1);
		this.weights = Float32Array.from({ length: 256 }, (_, i) => (i === 255 ? 0 : 2 ** (-i / WEIGHT_STEPS)));
	}

	// First point at or after a place in time, 0 … 1.
	first(at) {
		const wanted = at * 4294967295;
		let low = 0, high = this.count;
		while (low < high) {
			const middle = (low + high) >> 1;
			if (this.time[middle] < wanted)
				low = middle + 1;
			else
				high = middle;
		}
		return low;
	}

	isStore(i) {
		return (this.flags[i] & 2) !== 0;
	}

	level(i) {
		return (this.flags[i] >> 3) & 15;
	}

	// A filter is an object with any of object, lines (a set), thread, begin and end; returns how many are shown.
	filter(wanted) {
		let shown = 0;
		for (let i = 0; i < this.count; i++) {
			const keep = (wanted.object === undefined || this.object[i] === wanted.object) &&
				(wanted.lines === undefined || wanted.lines.has(this.line[i])) &&
				(wanted.thread === undefined || this.thread[i] === wanted.thread);
			this.shown[i] = keep ? 1 : 0;
			shown += this.shown[i];
		}
		return shown;
	}
}

export const noLine = NONE;
export const costOf = (step) => (step ? 2 ** (((step - 1) / COST_STEPS) * COST_OCTAVES) : NaN);
export const stepOf = (cost) => 1 + Math.min(COST_STEPS, Math.round((Math.log2(Math.max(cost, 1)) / COST_OCTAVES) * COST_STEPS));

// Rates between two places in time, in bins: share of each level, of stores, mean cost. Points for levels only do not
// count for stores.
export function rates(points, begin, end, levels) {
	const low = points.first(begin), high = points.first(end);
	let shown = 0;
	for (let i = low; i < high; i++)
		shown += points.shown[i];
	const bins = Math.max(8, Math.min(160, Math.floor(shown / 60)));
	const sums = { known: new Float64Array(bins), all: new Float64Array(bins), stores: new Float64Array(bins), cost: new Float64Array(bins), timed: new Float64Array(bins) };
	const byLevel = Array.from({ length: levels }, () => new Float64Array(bins));
	for (let i = low; i < high; i++) {
		if (!points.shown[i])
			continue;
		const bin = Math.min(bins - 1, Math.max(0, Math.floor(((points.time[i] / 4294967295 - begin) / (end - begin)) * bins)));
		const weight = points.weights[points.weight[i]], level = points.level(i);
		if (points.flags[i] & 4) {
			sums.all[bin] += weight;
			sums.stores[bin] += points.isStore(i) ? weight : 0;
		}
		if (level && level <= levels) {
			sums.known[bin] += weight;
			byLevel[level - 1][bin] += weight;
		}
		if (points.cost[i] && !points.isStore(i)) {
			sums.timed[bin] += weight;
			sums.cost[bin] += weight * costOf(points.cost[i]);
		}
	}
	const divide = (part, whole) => Array.from(part, (value, i) => (whole[i] > 0 ? value / whole[i] : null));
	return {
		x: Array.from({ length: bins }, (_, i) => begin + ((i + 0.5) / bins) * (end - begin)),
		levels: byLevel.map((sum) => divide(sum, sums.known)),
		stores: divide(sums.stores, sums.all),
		cost: divide(sums.cost, sums.timed),
	};
}
