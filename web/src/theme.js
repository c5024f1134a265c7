// Light or dark: the system's choice until the reader chooses.
import { element } from './dom.js';
import { changed, flush } from './state.js';

const THEMES = { auto: 'as the system', light: 'light', dark: 'dark' };
const root = document.documentElement;
const systemDark = matchMedia('(prefers-color-scheme: dark)');
let theme = 'auto';

function apply(name) {
	if (name === 'auto')
		root.removeAttribute('data-theme');
	else
		root.setAttribute('data-theme', name);
	changed('theme');
}

// A page from disk may have no storage: then the choice lasts as long as the page.
function remembered() {
	try {
		return localStorage.getItem('fathom-theme');
	} catch {
		return null;
	}
}

function keepTheme(name) {
	try {
		localStorage.setItem('fathom-theme', name);
	} catch {
		// no storage
	}
}

export function nextTheme() {
	const dark = theme === 'dark' || (theme === 'auto' && systemDark.matches);
	theme = dark ? 'light' : 'dark';
	keepTheme(theme);
	apply(theme);
}

export function themeButton() {
	const button = element('button', { type: 'button', id: 'theme', title: 'Light or dark (t)', onclick: nextTheme, 'aria-label': 'Switch between light and dark' }, '◐');
	const stored = remembered();
	theme = stored in THEMES ? stored : 'auto';
	apply(theme);
	systemDark.addEventListener('change', () => changed('theme'));
	addEventListener('beforeprint', () => {
		apply('light');
		flush();
	});
	addEventListener('afterprint', () => apply(theme));
	return button;
}
