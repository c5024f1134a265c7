// The report as a page. All data are inside the page; nothing is fetched.
import { element, note, replace, section } from './dom.js';
import { bytes, count, interval, number, percent, time } from './format.js';
import { changed, clearFilter, onChange, state } from './state.js';
import { levelTable, missCurve, staircase } from './charts.js';
import { findings } from './findings.js';
import { Panels } from './panels.js';
import { sources } from './source.js';
import { scaleAnswer, scaleFacts, scaleSections } from './scale.js';
import { squeezeAnswer, squeezeFacts, squeezeSections } from './squeeze.js';
import { addHeat, recordTable, statFacts, statSections, trustTable } from './stat.js';
import { levelBar, levelKeys, lineTable, objectTable, phaseTable, regionTable, routineTable, sharingTable, streamTable, threadTable, workingSetTable } from './tables.js';
import { nextTheme, themeButton } from './theme.js';
import { verdictCard } from './verdict.js';

const data = JSON.parse(document.getElementById('data').textContent);
state.data = data;

// Recordings of other verbs than record: what is shown at the top, and the sections.
const KINDS = {
	stat: { facts: () => statFacts(data.stat), answer: () => findings(data), sections: () => statSections(data.stat, levelSizes()) },
	squeeze: { facts: () => squeezeFacts(data.squeezed), answer: () => squeezeAnswer(data.squeezed), sections: () => squeezeSections(data.squeezed) },
	scale: { facts: () => scaleFacts(data.scaled), answer: () => scaleAnswer(data.scaled), sections: () => scaleSections(data.scaled) },
};

function levelSizes() {
	return Object.fromEntries((data.machine?.levels ?? []).map((level) => [level.name, level.advertised]));
}

const withPercent = (figure) => (Array.isArray(figure) ? `${percent(figure)} %` : 'n/a');

function facts() {
	if (KINDS[data.kind])
		return KINDS[data.kind].facts();
	const { sampling, whole } = data;
	return [
		['time', time(sampling.seconds), `${time(sampling.cpu_seconds)} of processor time`],
		['samples', count(sampling.samples), sampling.every ? 'every reference' : `${sampling.level_samples ? `and ${count(sampling.level_samples)} for levels only; ` : ''}sampler ${sampling.sampler}, overhead ${withPercent(sampling.overhead)}`],
		['mean cost of a load', Array.isArray(whole.cost) ? `${interval(whole.cost)} ${data.cost_unit}` : 'n/a', data.cost_origin ?? whole.cost],
		['stores', withPercent(whole.stores), 'of references'],
	];
}

function head() {
	const about = [data.host ? `on ${data.host}` : null, data.started, data.machine ? data.machine.title : null].filter(Boolean).join(' · ');
	document.title = `${data.program} · Fathom`;
	replace(document.getElementById('head'),
		element('div', { class: 'title' }, element('h1', {}, data.program), element('span', { class: 'buttons' }, element('button', { type: 'button', id: 'help', title: 'Keys (?)', 'aria-label': 'Show the keys', onclick: help }, '?'), themeButton())),
		element('p', { class: 'about' }, about),
		data.filter ? note(`Only ${data.filter}. Shares refer to these samples.`) : null,
		element('div', { class: 'facts' },
			facts().map(([name, value, more]) => element('div', { class: 'fact' }, element('span', { class: 'name' }, name), element('span', { class: 'value' }, value), element('span', { class: 'more' }, more))),
			data.kind === 'samples' && data.classes.length ? element('div', { class: 'fact broad' }, element('span', { class: 'name' }, `served by (${data.origin})`), levelBar(data.whole, data.classes), levelKeys(data)) : null));
}

const KEYS = [['Tab', 'next control or table'], ['Enter', 'filter by the row, or remove the filter'], ['← →', 'move (with the timeline focused)'], ['+ −', 'zoom'], ['0', 'show everything'], ['Esc', 'clear all filters'], ['t', 'light or dark'], ['g', 'go to the timeline'], ['?', 'this list']];
const dialog = element('dialog', { 'aria-label': 'Keys' }, element('h2', {}, 'Keys'), element('dl', { class: 'key-list' }, KEYS.map(([key, words]) => [element('dt', {}, element('kbd', {}, key)), element('dd', {}, words)]).flat()), element('form', { method: 'dialog' }, element('button', {}, 'Close')),
	note('With the mouse: drag over the timeline to zoom, double-click to see everything, Ctrl or Shift and wheel to zoom, click a row to filter.'));

function help() {
	if (!dialog.open)
		dialog.showModal();
}

function machineSection() {
	const { machine } = data;
	if (!machine)
		return [note('The recording has no machine profile: run \'fathom machine\' once, then record again.'), workingSetTable(data)];
	const sets = data.working_sets ?? (data.objects ?? []).filter((object) => object.bytes >= 4096).slice(0, 6).map((object) => ({ name: object.name, size: object.bytes }));
	const picture = staircase(machine, sets);
	return [
		picture ?? note('The latencies of this machine are missing: run \'fathom machine\'.'),
		picture ? note(data.working_sets ? 'Working sets: bytes of an object touched in one pass through a region.' : data.objects ? 'Marked: the sizes of the heaviest objects.' : null) : null,
		workingSetTable(data),
		levelTable(machine) ?? element('p', {}, machine.levels.filter((level) => level.advertised).map((level) => `${level.name} ${bytes(level.advertised)}`).join(', ')),
	];
}

function sampleSections() {
	const panels = data.timelines.filter(Boolean).length ? new Panels({ ...data, timelines: data.timelines.filter(Boolean) }) : null;
	const streams = streamTable(data);
	return [
		panels ? section('timeline', 'Over time', panels.node) : null,
		section('objects', 'Objects', levelKeys(data), objectTable(data)),
		section('lines', 'Lines and routines', lineTable(data), routineTable(data)),
		streams || data.streams_why ? section('streams', 'Streams', streams ?? note(data.streams_why)) : null,
		data.regions.length || data.phases.length ? section('regions', 'Regions', regionTable(data), phaseTable(data)) : null,
		section('threads', 'Threads', threadTable(data), sharingTable(data)),
	];
}

function rest() {
	const code = sources(data);
	return [
		code ? section('source', 'Source', note('Background: share of references of each line.'), code) : null,
		data.curve ? section('curve', 'Caches of any size', missCurve(data.curve)) : null,
		data.trust ? section('trust', 'Event trust', trustTable(data.trust)) : null,
		Array.isArray(data.squeeze) && data.squeeze.length ? section('squeeze', 'Every run', recordTable('squeeze-table', 'Runs as they were recorded', data.squeeze)) : null,
		data.missed?.length ? section('missed', 'Not sampled', element('ul', {}, data.missed.map((row) => element('li', {}, `${number(100 * row.share)} % of the processor time: ${row.reason}${row.function ? `, mostly in ${row.function}` : ''}`)))) : null,
	];
}

// Of long headings, for the list of contents
const SHORT = { machine: 'Machine' };

function build() {
	if (data.stat)
		addHeat(data.stat);
	head();
	const main = document.getElementById('main');
	replace(main, data.stat?.verdict ? section('verdict', 'Verdict', verdictCard(data.stat.verdict)) : null, section('findings', 'Findings', KINDS[data.kind]?.answer() ?? findings(data)),
		KINDS[data.kind]?.sections() ?? null,
		section('machine', 'The machine and the program’s working sets', machineSection()),
		data.kind === 'samples' ? sampleSections() : null, rest());
	const contents = document.getElementById('contents');
	replace(contents, [...main.querySelectorAll('section')].map((one) => element('a', { href: `#${one.id}` }, SHORT[one.id] ?? one.querySelector('h2').textContent)));
	// headings must not scroll behind the bar, whatever its height
	const keepFree = () => document.documentElement.style.setProperty('--contents', `${contents.offsetHeight}px`);
	keepFree();
	onChange((what) => what.has('size') && keepFree());
	replace(document.getElementById('foot'), element('p', {}, `Fathom ${data.fathom}. Figures have 95 % intervals; point at “n/a” for the reason. This file needs no network.`));
	document.body.append(dialog);
	document.addEventListener('keydown', (event) => {
		if (event.target.closest('input, select, textarea') || event.ctrlKey || event.metaKey || event.altKey)
			return;
		if (event.key === 'Escape' && !dialog.open)
			clearFilter();
		else if (event.key === 't')
			nextTheme();
		else if (event.key === 'g')
			document.getElementById('panels-area')?.focus();
		else if (event.key === '?')
			help();
	});
	addEventListener('resize', () => changed('size'));
	changed('start');
	changed('timeline');
}

build();
