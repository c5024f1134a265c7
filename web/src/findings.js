// Findings, most valuable first: evidence, place, advice, worth.
import { element, note } from './dom.js';
import { available, lineName } from './format.js';
import { state, toggle } from './state.js';

const VERDICTS = { present: 'found', inconclusive: 'not decided' };

const share = (value) => (100 * value).toFixed(0);

function link(kind, key, words) {
	return element('button', { type: 'button', class: 'pick', title: 'Show only this in the panels', onclick: () => toggle(kind, key, words) }, words);
}

function places(finding) {
	const { objects, lines } = state.data, found = [];
	if (finding.line >= 0 && lines?.[finding.line])
		found.push(link('line', finding.line, lineName(lines[finding.line])));
	if (finding.object >= 0 && objects?.[finding.object])
		found.push(link('object', finding.object, objects[finding.object].name));
	if (finding.region)
		found.push(element('span', {}, `region ${finding.region}`));
	if (finding.where)
		found.push(element('span', {}, finding.where));
	return found;
}

function card(finding) {
	const where = places(finding);
	const row = (name, ...content) => [element('dt', {}, name), element('dd', {}, ...content)];
	return element('article', { class: `finding ${finding.verdict ?? 'present'}` },
		element('h3', {}, finding.title,
			finding.worth && available(finding.worth) ? element('span', { class: 'worth', title: 'An upper bound, with its 95 % interval' }, `worth up to ${share(finding.worth[0])} % (${share(finding.worth[1])}–${share(finding.worth[2])} %)`) : null,
			element('span', { class: 'confidence' }, `${VERDICTS[finding.verdict ?? 'present'] ?? finding.verdict}, confidence ${finding.confidence.toFixed(2)}`)),
		element('dl', {},
			row('Evidence', finding.evidence),
			where.length ? row('Where', where.flatMap((one, index) => (index ? [', ', one] : [one]))) : null,
			finding.advice ? row('Try', finding.advice) : null,
			finding.worth && !available(finding.worth) ? row('Worth', `not known: ${finding.worth}`) : null));
}

export function findings(data) {
	const all = data.findings ?? [], shown = all.filter((finding) => finding.verdict !== 'absent');
	const present = shown.filter((finding) => (finding.verdict ?? 'present') === 'present'), open = shown.filter((finding) => finding.verdict === 'inconclusive');
	const absent = all.length - shown.length;
	return [
		present.length ? present.map(card) : note(data.findings_why ?? 'No finding is worth a change. The tables below list the references.'),
		open.length ? element('details', {}, element('summary', {}, `${open.length} not decided by this recording`), open.map(card)) : null,
		absent ? note(`${absent} other patterns are absent: ${all.filter((finding) => finding.verdict === 'absent').map((finding) => finding.title).join(', ')}.`) : null,
		(data.warnings ?? []).length ? element('ul', { class: 'warnings', 'aria-label': 'Warnings' }, data.warnings.map((text) => element('li', {}, text))) : null,
	];
}
