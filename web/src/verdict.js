// What limits the program, as 'fathom -- PROGRAM' says it.
import { element } from './dom.js';
import { lineName } from './format.js';

const share = (value) => (100 * value).toFixed(0);
const range = (figure) => `${share(figure.value)} % (${share(figure.low)} … ${share(figure.high)})`;
const row = (name, ...content) => [element('dt', {}, name), element('dd', {}, ...content)];
const list = (texts) => texts.map((text) => element('p', {}, text));

export function verdictCard(verdict) {
	const { line, share: part, worth } = verdict;
	const where = [line && (line.line ? `${lineName(line)} (${line.function})` : line.function), line && line.share > 0 ? `${share(line.share)} % of it` : null, verdict.object ? `data: ${verdict.object}` : null].filter(Boolean);
	const certain = verdict.cause !== 'inconclusive';
	return element('article', { class: `finding verdict ${certain ? 'present' : 'inconclusive'}` },
		element('h3', {}, verdict.cause, element('span', { class: 'confidence' }, `confidence ${verdict.confidence.toFixed(2)}`)),
		element('p', { class: 'sentence' }, certain && part ? `${range(part)} ${verdict.sentence}` : verdict.sentence),
		element('dl', {},
			where.length ? row('Where', where.join(', ')) : null,
			verdict.advice ? row('Try', verdict.advice) : null,
			worth ? row('Worth', `at most ${range(worth)} of the run time`) : null,
			verdict.also.length ? row('Also', verdict.also.map((one) => `${one.cause} ${range(one.share)}`).join(', ')) : null,
			verdict.evidence.length ? row('Evidence', list(verdict.evidence.map((one) => `${one.method}: ${one.text}`))) : null,
			verdict.contradictions.length ? row('But', list(verdict.contradictions)) : null,
			verdict.settle ? row('To decide', verdict.settle) : null));
}
