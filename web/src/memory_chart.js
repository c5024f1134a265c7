// The memory hierarchy as a chart: levels as boxes, the traffic between them as arrows.
import { element } from './dom.js';
import { bytes, number } from './format.js';

const part = (figure) => (figure ? `${(100 * figure.value).toFixed(0)} %` : 'n/a');
const sum = (...figures) => figures.reduce((total, figure) => total + (figure?.value ?? 0), 0);

function box(name, words, colour) {
	return element('div', { class: 'level', style: { '--colour': `var(--level-${colour})` } }, element('b', {}, name), words.map((text) => element('span', {}, text)));
}

// The traffic between a level and the one above it
function arrow(level) {
	const { gbs, utilisation: used } = level, width = used ? Math.min(1, used.value) : 0;
	const written = sum(level.write_bytes), words = [level.read_bytes ? `${bytes(sum(level.read_bytes, level.allocate_bytes))} read` : 'reads unknown', written > 0 ? `${bytes(written)} written` : null].filter(Boolean).join(', ');
	return element('div', { class: 'traffic', title: words },
		element('span', { class: 'rate' }, gbs ? `${number(gbs.value)} GB/s` : 'n/a'),
		element('span', { class: 'peak', role: 'img', 'aria-label': `${part(used)} of the peak` }, element('i', { style: { '--share': `${100 * width}%` } })),
		element('span', {}, used ? `${part(used)} of peak` : ''),
		element('span', {}, words));
}

function waiting(level) {
	const { latency_waiting: latency, bandwidth_waiting: bandwidth } = level;
	return [latency ? `${part(latency)} latency` : null, bandwidth ? `${part(bandwidth)} bandwidth` : null].filter(Boolean);
}

export function memoryChart(stat, sizes = {}) {
	const { levels = [], cycles } = stat;
	if (!levels.length || !levels.some((level) => level.gbs))
		return null;
	const active = cycles?.active?.value, works = active > 0 && cycles.productive ? [`${(100 * cycles.productive.value / active).toFixed(0)} % productive`] : [];
	return element('figure', { class: 'memory-chart', id: 'memory-chart' },
		element('div', { class: 'hierarchy' }, box('core', works, 0),
			levels.map((level, index) => [arrow(level), box(level.name, [sizes[level.name] ? bytes(sizes[level.name]) : null, ...waiting(level)].filter(Boolean), Math.min(index, 3))])),
		element('figcaption', {}, 'Arrows: traffic between a level and the one before it, and its share of the peak. Boxes: share of the cycles that wait for the latency and the bandwidth of the level.'));
}
