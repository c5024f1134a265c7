// Rates over time: levels that served the references, share of stores, cost of a load.
import { css, element } from './dom.js';
import { levelColour } from './colour.js';
import { number } from './format.js';
import { GUTTER, MARGIN } from './canvas.js';
import { rates } from './points.js';
import { changed } from './state.js';

const HEIGHT = 210;

const axis = (options) => ({ stroke: () => css('--muted'), grid: { stroke: () => css('--rule'), width: 1 }, ticks: { stroke: () => css('--rule'), width: 1 }, font: '11px system-ui, sans-serif', ...options });

export class RatePanel {
	constructor(data, timeline, costUnit) {
		this.names = timeline.rates ? timeline.rates.map((rate) => rate.name) : data.levels;
		this.levels = data.levels;
		this.timeline = timeline;
		this.costUnit = costUnit;
		this.node = element('div', { class: 'rates', role: 'img', 'aria-label': 'Shares of memory levels and mean cost over time' });
		this.plot = null;
		this.hidden = new Set(['TLB misses', 'references']);
	}

	// Fitted rates of a folded region are of all samples; with a filter, or in plain time, rates are those of the points.
	values(points, begin, end, filtered) {
		const fitted = this.timeline.rates;
		if (fitted && fitted.length && !filtered) {
			const x = fitted[0].points.map((_, i) => (i + 0.5) / fitted[0].points.length);
			return { x, series: fitted.map((rate, index) => ({ name: rate.name, unit: rate.unit, colour: this.colourOf(rate.name, index), values: rate.points.map((point) => (Array.isArray(point) ? point[0] : null)), low: rate.points.map((point) => (Array.isArray(point) ? point[1] : null)), high: rate.points.map((point) => (Array.isArray(point) ? point[2] : null)) })) };
		}
		const found = rates(points, begin, end, this.levels.length);
		return {
			x: found.x,
			series: [
				...found.levels.map((values, index) => ({ name: this.levels[index], unit: '', colour: levelColour(index), values })),
				{ name: 'stores', unit: '', colour: () => css('--store'), values: found.stores, dash: [4, 3] },
				{ name: 'mean cost', unit: this.costUnit, colour: () => css('--cost-line'), values: found.cost, width: 2 },
			],
		};
	}

	colourOf(name, index) {
		const level = this.levels.indexOf(name);
		return level >= 0 ? levelColour(level) : name === 'stores' ? css('--store') : name.includes('cost') ? css('--cost-line') : css(`--routine-${(index + 5) % 10}`);
	}

	draw(points, begin, end, filtered, width, timeAxis) {
		const { x, series } = this.values(points, begin, end, filtered);
		const { begin: first, end: last } = this.timeline, value = (place) => first + place * (last - first);
		const isShare = (one) => !one.unit;
		const options = {
			width,
			height: HEIGHT,
			padding: [8, 0, 0, 0],
			cursor: { show: false },
			legend: { show: false },
			scales: { x: { time: false, range: [value(begin), value(end)] }, share: { range: [0, 1] }, cost: { range: (_, low, high) => [0, (high > 0 ? high : 1) * 1.08] } },
			axes: [
				axis({ size: 34, values: (_, ticks) => ticks.map(timeAxis), space: 90 }),
				axis({ scale: 'share', size: GUTTER - 18, values: (_, ticks) => ticks.map((tick) => `${Math.round(tick * 100)} %`), label: 'share of references', labelSize: 18, labelFont: '11px system-ui, sans-serif', labelGap: 0 }),
				axis({ scale: 'cost', side: 1, size: MARGIN - 16, grid: { show: false }, values: (_, ticks) => ticks.map((tick) => number(tick)), label: this.costUnit, labelSize: 16, labelFont: '11px system-ui, sans-serif' }),
			],
			series: [{}],
			bands: [],
		};
		const columns = [x.map(value)];
		for (const one of series) {
			if (this.hidden.has(one.name))
				continue;
			const stroke = typeof one.colour === 'function' ? one.colour() : one.colour, scale = isShare(one) ? 'share' : 'cost';
			options.series.push({ label: one.name, scale, stroke, width: one.width ?? 1.6, dash: one.dash, points: { show: false }, spanGaps: false });
			columns.push(one.values);
			if (one.low) {
				options.series.push({ scale, stroke: 'transparent', points: { show: false } }, { scale, stroke: 'transparent', points: { show: false } });
				columns.push(one.high, one.low);
				options.bands.push({ series: [columns.length - 2, columns.length - 1], fill: `${stroke}2e` });
			}
		}
		this.shown = { x, series };
		this.plot?.destroy();
		this.plot = new uPlot(options, columns, this.node);
	}

	// Values of the lines at a place in time.
	at(place) {
		if (!this.shown || !this.shown.x.length)
			return [];
		let best = 0;
		this.shown.x.forEach((x, i) => { best = Math.abs(x - place) < Math.abs(this.shown.x[best] - place) ? i : best; });
		return this.shown.series.filter((one) => !this.hidden.has(one.name) && one.values[best] !== null && one.values[best] !== undefined)
			.map((one) => ({ name: one.name, colour: typeof one.colour === 'function' ? one.colour() : one.colour, text: one.unit ? `${number(one.values[best])} ${one.unit}` : `${(100 * one.values[best]).toFixed(0)} %` }));
	}

	legend() {
		const flip = (name) => {
			if (!this.hidden.delete(name))
				this.hidden.add(name);
			changed('zoom');
		};
		return (this.shown?.series ?? []).map((one) => element('button', { type: 'button', class: 'key', 'aria-pressed': String(!this.hidden.has(one.name)), title: 'Show or hide', onclick: () => flip(one.name) }, element('i', { class: one.dash ? 'dashed' : '', style: { '--colour': typeof one.colour === 'function' ? one.colour() : one.colour } }), one.unit ? `${one.name} (right)` : one.name));
	}
}
