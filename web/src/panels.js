// The three panels over time, one under the other and with one time axis: zoom, hover, keyboard and filter are of all.
import { css, element, replace } from './dom.js';
import { costColours } from './colour.js';
import { bytes, count, lineName, number, routineOf, time } from './format.js';
import { AddressPanel, COST_FROM, COST_TO } from './address_panel.js';
import { GUTTER, MARGIN } from './canvas.js';
import { CodePanel } from './code_panel.js';
import { costOf, Points } from './points.js';
import { RatePanel } from './rate_panel.js';
import { changed, choose, clearFilter, onChange, state, zoom } from './state.js';

const NEAR = 14; // px

export class Panels {
	constructor(data) {
		this.data = data;
		this.made = new Map();
		this.select = element('select', { id: 'timeline-choice', 'aria-label': 'Quantity over time', onchange: () => choose(Number(this.select.value)) });
		data.timelines.forEach((timeline, index) => this.select.append(element('option', { value: index }, timeline.name)));
		this.chips = element('div', { class: 'chips', 'aria-live': 'polite' });
		this.words = element('p', { class: 'note', id: 'panel-words' });
		this.keys = element('div', { class: 'keys' });
		this.gradient = element('div', { class: 'keys' });
		this.stack = element('div', { class: 'stack' });
		this.line = element('div', { class: 'cross', hidden: true });
		this.selection = element('div', { class: 'selection', hidden: true });
		this.tip = element('div', { class: 'tip', role: 'status', hidden: true });
		this.overlay = element('div', { class: 'overlay', id: 'panels-area', tabindex: 0, role: 'application', 'aria-label': 'Timeline. Arrow keys move, plus and minus zoom, 0 shows everything, Escape clears the filter.', 'aria-describedby': 'panel-words' }, this.line, this.selection);
		this.node = element('div', { class: 'panels' },
			element('div', { class: 'bar' },
				data.timelines.length > 1 ? element('label', {}, 'Show ', this.select) : null,
				this.chips,
				element('span', { class: 'buttons' },
					this.button('−', 'Zoom out (-)', () => this.scale(2)),
					this.button('+', 'Zoom in (+)', () => this.scale(0.5)),
					this.button('Reset', 'Show everything (0)', () => zoom(0, 1), 'reset'))),
			this.words, this.gradient, element('div', { class: 'frame' }, this.stack, this.overlay, this.tip), this.keys);
		this.listen();
		onChange((what) => this.update(what));
		new ResizeObserver(() => changed('size')).observe(this.stack);
	}

	button(text, title, action, id) {
		return element('button', { type: 'button', id, title, 'aria-label': title, onclick: action }, text);
	}

	// Views of a timeline are made at its first use.
	current() {
		if (!this.made.has(state.timeline)) {
			const timeline = this.data.timelines[state.timeline];
			const points = new Points(timeline.points);
			this.made.set(state.timeline, {
				timeline,
				points,
				code: new CodePanel(this.data, points),
				address: new AddressPanel(this.data, timeline, this.data.cost_unit),
				rate: new RatePanel(this.data, timeline, this.data.cost_unit),
			});
		}
		return this.made.get(state.timeline);
	}

	wanted() {
		const filter = {}, chosen = state.filter;
		if (chosen.object)
			filter.object = chosen.object.key;
		if (chosen.thread)
			filter.thread = chosen.thread.key;
		const sets = ['line', 'routine', 'stream'].filter((kind) => chosen[kind]).map((kind) => chosen[kind].lines ?? this.linesOf(kind, chosen[kind].key));
		if (sets.length)
			filter.lines = sets.reduce((all, set) => new Set([...all].filter((line) => set.has(line))));
		if (chosen.stream && this.data.streams)
			filter.object = this.data.streams[chosen.stream.key].object;
		return filter;
	}

	linesOf(kind, key) {
		if (kind === 'line')
			return new Set([key]);
		if (kind === 'stream')
			return new Set([this.data.streams[key].line]);
		return new Set(this.data.lines.map((line, index) => [line, index]).filter(([line]) => line.function === key || routineOf(line) === key).map(([, index]) => index));
	}

	update(what) {
		const now = this.current(), width = Math.floor(this.stack.clientWidth);
		if (width < GUTTER + MARGIN + 50)
			return;
		if (what.has('timeline') || !this.stack.firstChild) {
			this.select.value = state.timeline;
			replace(this.stack, now.code.canvas, now.address.canvas, now.rate.node);
			what.add('filter');
		}
		if (what.has('filter')) {
			const wanted = this.wanted();
			now.shown = now.points.filter(wanted);
			now.address.place(wanted.object !== undefined && now.address.lanes.some((lane) => lane.object === wanted.object) ? wanted.object : undefined);
			this.drawChips();
		}
		for (const panel of [now.code, now.address]) {
			panel.resize(width);
			panel.draw(now.points, state.begin, state.end);
			panel.boundaries((now.timeline.phases ?? []).slice(1).map((phase) => phase.begin), state.begin, state.end);
		}
		const filtered = Object.keys(state.filter).length > 0;
		now.rate.draw(now.points, state.begin, state.end, filtered, width, (tick) => this.valueText(tick).replace(/\.0+ /, ' '));
		this.overlay.style.setProperty('left', `${GUTTER}px`);
		this.overlay.style.setProperty('right', `${MARGIN}px`);
		replace(this.keys, ...now.rate.legend());
		this.drawGradient();
		this.say(now, filtered);
		this.node.dataset.begin = state.begin;
		this.node.dataset.end = state.end;
		this.node.dataset.shown = now.shown;
	}

	valueAt(place) {
		const { begin, end } = this.current().timeline;
		return begin + place * (end - begin);
	}

	timeText(place) {
		return this.valueText(this.valueAt(place));
	}

	valueText(value) {
		const { timeline } = this.current(), span = (state.end - state.begin) * (timeline.end - timeline.begin);
		return timeline.unit === 's' ? time(value, span) : `${number(value)}${timeline.unit ? ` ${timeline.unit}` : ''}`;
	}

	say(now, filtered) {
		const { points, timeline } = now;
		const parts = [timeline.words ?? (timeline.kind === 'time' ? 'Samples in the order of time.' : '')];
		if (points.count < points.total)
			parts.push(`${count(points.count)} of ${count(points.total)} samples are drawn, evenly selected; the tables cover all samples.`);
		if (filtered)
			parts.push(`${count(now.shown)} of them pass the filter.`);
		if (state.begin > 0 || state.end < 1)
			parts.push(`Zoomed to ${this.timeText(state.begin)} … ${this.timeText(state.end)}.`);
		this.words.textContent = parts.filter(Boolean).join(' ');
	}

	drawChips() {
		replace(this.chips, Object.entries(state.filter).map(([kind, { words }]) =>
			element('button', { type: 'button', class: 'chip', title: 'Remove this filter', 'aria-label': `Remove the filter: ${kind} ${words}`, onclick: () => clearFilter(kind) }, `${kind}: ${words} `, element('span', { 'aria-hidden': 'true' }, '×'))));
	}

	drawGradient() {
		const colours = costColours(), stops = [0, 0.25, 0.5, 0.75, 1].map((at) => colours[1 + Math.round(at * 254)]);
		replace(this.gradient,
			element('span', { class: 'key' }, `loads: ${COST_FROM} ${this.data.cost_unit} `, element('span', { class: 'ramp', style: { background: `linear-gradient(to right, ${stops.join(', ')})` } }), ` ${COST_TO} and more`),
			element('span', { class: 'key' }, element('i', { class: 'dot', style: { '--colour': colours[0] } }), 'loads that were not timed'),
			element('span', { class: 'key' }, element('i', { class: 'dot', style: { '--colour': css('--store') } }), 'stores'));
	}

	// Zoom by a factor around a place.
	scale(factor, around = (state.begin + state.end) / 2) {
		zoom(around - (around - state.begin) * factor, around + (state.end - around) * factor);
	}

	move(share) {
		const width = state.end - state.begin, begin = Math.max(0, Math.min(1 - width, state.begin + share * width));
		zoom(begin, begin + width);
	}

	placeOf(event) {
		const box = this.overlay.getBoundingClientRect();
		const share = Math.max(0, Math.min(1, (event.clientX - box.left) / box.width));
		return { share, place: state.begin + share * (state.end - state.begin), x: share * box.width, y: event.clientY - box.top, box };
	}

	listen() {
		let from = null;
		this.overlay.addEventListener('pointerdown', (event) => {
			if (event.button)
				return;
			from = this.placeOf(event);
			this.overlay.setPointerCapture(event.pointerId);
		});
		this.overlay.addEventListener('pointermove', (event) => {
			const at = this.placeOf(event);
			if (from && Math.abs(at.x - from.x) > 4) {
				this.selection.hidden = false;
				this.selection.style.setProperty('left', `${Math.min(at.x, from.x)}px`);
				this.selection.style.setProperty('width', `${Math.abs(at.x - from.x)}px`);
			}
			this.hover(at);
		});
		this.overlay.addEventListener('pointerup', (event) => {
			const at = this.placeOf(event);
			if (from && Math.abs(at.x - from.x) > 4)
				zoom(Math.min(at.place, from.place), Math.max(at.place, from.place));
			from = null;
			this.selection.hidden = true;
		});
		this.overlay.addEventListener('pointerleave', () => this.hover(null));
		this.overlay.addEventListener('dblclick', () => zoom(0, 1));
		// the wheel alone scrolls the page
		this.overlay.addEventListener('wheel', (event) => {
			if (!event.ctrlKey && !event.shiftKey)
				return;
			event.preventDefault();
			this.scale((event.deltaY || event.deltaX) > 0 ? 1.25 : 0.8, this.placeOf(event).place);
		}, { passive: false });
		this.overlay.addEventListener('keydown', (event) => this.key(event));
	}

	key(event) {
		const actions = { ArrowLeft: () => this.move(-0.2), ArrowRight: () => this.move(0.2), '+': () => this.scale(0.5), '=': () => this.scale(0.5), '-': () => this.scale(2), 0: () => zoom(0, 1), Home: () => this.move(-1e9), End: () => this.move(1e9) };
		const action = actions[event.key];
		if (!action || event.ctrlKey || event.metaKey || event.altKey)
			return;
		event.preventDefault();
		action();
	}

	// The sample nearest to the pointer, in the panel under the pointer.
	nearest(now, at) {
		const reach = (NEAR / at.box.width) * (state.end - state.begin);
		const inCode = at.y < now.code.height, panel = inCode ? now.code : now.address, y = inCode ? at.y : at.y - now.code.height;
		let best = -1, least = NEAR * NEAR;
		if (y > panel.height)
			return -1;
		for (let i = now.points.first(at.place - reach), high = now.points.first(at.place + reach); i < high; i++) {
			if (!now.points.shown[i])
				continue;
			const dx = ((now.points.time[i] / 4294967295 - at.place) / (state.end - state.begin)) * at.box.width, dy = panel.yOf(now.points, i) - y;
			if (dx * dx + dy * dy < least) {
				least = dx * dx + dy * dy;
				best = i;
			}
		}
		return best;
	}

	hover(at) {
		this.line.hidden = !at;
		this.tip.hidden = !at;
		if (!at)
			return;
		const now = this.current(), i = this.nearest(now, at);
		this.line.style.setProperty('left', `${at.x}px`);
		const rows = i >= 0 ? this.describe(now, i) : [];
		replace(this.tip,
			element('div', { class: 'when' }, this.timeText(at.place)),
			rows.map(([name, text]) => element('div', {}, element('b', {}, name), ' ', text)),
			element('div', { class: 'levels' }, now.rate.at(at.place).map((one) => element('span', {}, element('i', { class: 'dot', style: { '--colour': one.colour } }), `${one.name} ${one.text}`))));
		const right = at.x > at.box.width * 0.6;
		this.tip.style.setProperty('left', right ? 'auto' : `${GUTTER + at.x + 14}px`);
		this.tip.style.setProperty('right', right ? `${MARGIN + at.box.width - at.x + 14}px` : 'auto');
		this.tip.style.setProperty('top', `${Math.max(0, Math.min(at.y - 20, at.box.height - 170))}px`);
	}

	describe(now, i) {
		const { points, address } = now, { objects, lines, threads, levels, cost_unit: unit } = this.data;
		const object = objects[points.object[i]], line = lines[points.line[i]], lane = address.byLane[points.lane[i]];
		const thread = threads.find((one) => one.index === points.thread[i]), level = points.level(i);
		const offset = lane ? lane.low + (points.place[i] / 4294967295) * (lane.high - lane.low) : NaN;
		return [
			[points.isStore(i) ? 'store to' : 'load of', `${object ? object.name : 'other memory'}${object && object.bytes && offset <= object.bytes ? ` +${bytes(Math.round(offset))}` : ''}`],
			['line', line ? `${lineName(line)} ${routineOf(line)}` : 'not known'],
			['thread', thread ? `${thread.thread} ${thread.name}` : String(points.thread[i])],
			['cost', points.cost[i] ? `${number(costOf(points.cost[i]), 2)} ${unit}${level ? `, probably ${levels[level - 1]}` : ''}` : 'not timed'],
		];
	}
}
