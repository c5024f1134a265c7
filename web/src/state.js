// The state of the page: timeline, zoomed part (0 … 1), and filter. Views redraw if it changes.
const listeners = [];

export const state = { data: null, timeline: 0, begin: 0, end: 1, filter: {} };

export const onChange = (listener) => listeners.push(listener);

let waiting = false;
const changes = new Set();

// Many changes within one frame are drawn once.
export function changed(what) {
	changes.add(what);
	if (waiting)
		return;
	waiting = true;
	requestAnimationFrame(flush);
}

// Now, for a printer that does not wait.
export function flush() {
	const done = new Set(changes);
	waiting = false;
	changes.clear();
	for (const listener of done.size ? listeners : [])
		listener(done);
}

const LEAST = 1e-6;
export function zoom(begin, end) {
	let width = Math.min(1, Math.max(LEAST, end - begin));
	state.begin = Math.max(0, Math.min(1 - width, begin));
	state.end = state.begin + width;
	changed('zoom');
}

// One filter of each kind; a second click removes it.
export function toggle(kind, key, words) {
	if (state.filter[kind]?.key === key)
		delete state.filter[kind];
	else
		state.filter[kind] = { key, words };
	changed('filter');
}

export function clearFilter(kind) {
	if (kind)
		delete state.filter[kind];
	else
		state.filter = {};
	changed('filter');
}

export function choose(timeline) {
	state.timeline = timeline;
	state.begin = 0;
	state.end = 1;
	changed('timeline');
}
