// Addresses over time: objects as lanes, loads coloured by cost, stores in black.
import { css } from './dom.js';
import { blend, costColours, pack } from './colour.js';
import { bytes, valueOf } from './format.js';
import { PointCanvas, pointSize, FAINT, GUTTER } from './canvas.js';
import { stepOf } from './points.js';

const HEIGHT = 400, GAP = 6, LEAST = 26;
// The ends of the gradient, in cycles
export const COST_FROM = 4;
export const COST_TO = 512;

export class AddressPanel extends PointCanvas {
	constructor(data, timeline, unitOfCost) {
		super(HEIGHT, 'Addresses over time: one lane for each object; loads coloured by cost, stores in the colour of the text');
		this.unitOfCost = unitOfCost;
		this.objects = data.objects;
		// a lane is as high as its object, or, of one that is used in a small part only, as that part; 0: it does not
		// begin with the object
		const sizeOf = ({ object, low, high }) => {
			const all = data.objects[object]?.bytes;
			return !(all >= high) ? 0 : high > all / 2 ? all : low < high / 10 ? high : 0;
		};
		this.lanes = timeline.lanes.map((lane) => ({ ...lane, size: sizeOf(lane), share: lane.object < 0 ? 0 : valueOf(data.objects[lane.object]?.served.share) || 0 }));
		this.place(undefined);
	}

	// The filtered object gets most of the room.
	place(focus) {
		const room = HEIGHT - GAP * this.lanes.length;
		const total = this.lanes.reduce((sum, lane) => sum + lane.share, 0) || 1;
		const least = Math.min(LEAST, room / this.lanes.length);
		const free = room - least * this.lanes.length;
		let y = GAP / 2;
		this.byLane = new Array(256).fill(null);
		this.focus = focus;
		for (const lane of this.lanes) {
			const wanted = focus === undefined ? Math.sqrt(lane.share / total) : lane.object === focus ? 1 : 0;
			lane.wanted = wanted;
		}
		const all = this.lanes.reduce((sum, lane) => sum + lane.wanted, 0) || 1;
		for (const lane of this.lanes) {
			lane.y = y;
			lane.height = least + (free * lane.wanted) / all;
			y += lane.height + GAP;
			this.byLane[lane.lane] = lane;
		}
	}

	nameOf(lane) {
		return lane.object < 0 ? 'other memory' : this.objects[lane.object]?.name ?? '?';
	}

	draw(points, begin, end) {
		const muted = css('--muted'), text = css('--text');
		this.clear();
		for (const lane of this.lanes) {
			const middle = lane.y + lane.height / 2, object = this.objects[lane.object];
			this.context.fillStyle = css('--lane');
			this.context.fillRect(this.plot.left, lane.y, this.plot.width, lane.height);
			this.text(this.nameOf(lane), GUTTER - 10, lane.height > 36 ? middle - 7 : middle, { colour: text, align: 'right', width: GUTTER - 14 });
			if (lane.height > 36)
				this.text(object ? `${object.kind}${object.bytes ? `, ${bytes(object.bytes)}` : ''}` : '', GUTTER - 10, middle + 8, { colour: muted, align: 'right', size: 11, width: GUTTER - 14 });
			if (lane.height > 36) {
				this.text(`+${bytes(lane.size || lane.high)}`, this.plot.right + 6, lane.y + 6, { colour: muted, size: 11 });
				this.text(lane.size || !lane.low ? '+0' : object?.bytes ? `+${bytes(lane.low)}` : 'lowest', this.plot.right + 6, lane.y + lane.height - 6, { colour: muted, size: 11 });
			}
		}
		this.drawPoints(points, begin, end);
	}

	// The highest address is on top. Expensive loads are drawn over cheap ones, so that they stay visible.
	yOf(points, i) {
		const lane = this.byLane[points.lane[i]];
		if (!lane)
			return -1;
		const share = lane.size ? (lane.low + (points.place[i] / 4294967295) * (lane.high - lane.low)) / lane.size : points.place[i] / 4294967295;
		return lane.y + 2 + (1 - share) * (lane.height - 4);
	}

	drawPoints(points, begin, end) {
		const low = points.first(begin), high = points.first(end);
		const gradient = costColours(), from = stepOf(COST_FROM), to = stepOf(COST_TO);
		const colours = Uint32Array.from({ length: 256 }, (_, step) => pack(gradient[step ? 1 + Math.round(254 * Math.min(1, Math.max(0, (step - from) / (to - from)))) : 0]));
		const store = pack(css('--store')), faint = pack(blend(css('--lane'), css('--muted'), FAINT));
		// 0: excluded by the filter; then loads by cost; stores are drawn with the cheap ones
		const rank = (i) => (!points.shown[i] ? 0 : points.isStore(i) ? 2 : points.cost[i] === 0 ? 1 : points.cost[i] < 128 ? 2 : 3);
		this.points(pointSize(high - low), (put, width) => {
			const scale = width / (end - begin) / 4294967295, origin = begin * 4294967295;
			for (let turn = 0; turn < 4; turn++)
				for (let i = low; i < high; i++) {
					if (rank(i) !== turn)
						continue;
					const y = this.yOf(points, i);
					if (y >= 0)
						put(Math.floor((points.time[i] - origin) * scale), Math.round(y * this.ratio), turn === 0 ? faint : points.isStore(i) ? store : colours[points.cost[i]]);
				}
		});
	}
}
