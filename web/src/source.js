// Source with its heat, if the file existed when the page was made.
import { element, note } from './dom.js';
import { fileName, lineName, valueOf } from './format.js';
import { onChange, state, toggle } from './state.js';

// Of each file and line: its share of references, and which rows of the table of lines it is.
function heatOf(data) {
	const heat = new Map();
	(data.lines ?? []).forEach((line, index) => {
		const key = `${line.file}:${line.line}`, share = valueOf(line.served.share) || 0;
		if (!line.file)
			return;
		if (!heat.has(key))
			heat.set(key, { share: 0, index, served: line.served });
		heat.get(key).share += share;
	});
	for (const place of data.stat?.lines ?? []) {
		const key = `${place.file}:${place.line}`;
		if (place.file && place.heat > 0)
			heat.set(key, { share: place.heat, index: -1 });
	}
	return heat;
}

function rowOf(data, heat, most, file, [number, text]) {
	const hot = heat.get(`${file}:${number}`);
	const share = hot ? hot.share : 0;
	const pick = hot && hot.index >= 0 ? () => toggle('line', hot.index, lineName(data.lines[hot.index])) : null;
	const row = element('tr', { class: `${hot ? 'hot' : ''}${pick ? ' choosable' : ''}`, onclick: pick, style: hot ? { '--heat': String(Math.sqrt(share / most)) } : null },
		element('td', { class: 'number line' }, pick ? element('button', { type: 'button', class: 'pick', 'aria-label': `Line ${number}, ${(100 * share).toFixed(1)} % of references` }, String(number)) : String(number)),
		element('td', { class: 'number' }, hot ? `${(100 * share).toFixed(1)}` : ''),
		element('td', { class: 'code' }, element('code', {}, text)));
	row.lineIndex = hot ? hot.index : -1;
	return row;
}

export function sources(data) {
	const heat = heatOf(data), most = Math.max(1e-9, ...[...heat.values()].map((hot) => hot.share));
	if (!data.sources?.length)
		return null;
	const files = data.sources.map((source, index) => {
		const rows = [];
		let before = 0;
		for (const line of source.lines) {
			if (before && line[0] !== before + 1)
				rows.push(element('tr', { class: 'gap' }, element('td', { colspan: 3 }, '⋯')));
			rows.push(rowOf(data, heat, most, source.file, line));
			before = line[0];
		}
		onChange((what) => {
			if (what.has('filter'))
				for (const row of rows)
					row.classList.toggle('chosen', row.lineIndex >= 0 && state.filter.line?.key === row.lineIndex);
		});
		return element('details', { open: index < 3 }, element('summary', {}, fileName(source.file), ' ', element('span', { class: 'path' }, source.file)),
			source.newer ? note('This file was changed after the recording: lines may differ from the recording.') : null,
			element('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': `Source of ${fileName(source.file)}` }, element('table', { class: 'source' }, element('thead', {}, element('tr', {}, ['line', '%', 'source'].map((head) => element('th', { scope: 'col' }, head)))), element('tbody', {}, rows))));
	});
	return files;
}
