// Elements are made from texts, never from markup: names come from untrusted programs.
export function element(name, attributes = {}, ...children) {
	const made = document.createElement(name);
	for (const [key, value] of Object.entries(attributes)) {
		if (value === null || value === undefined || value === false)
			continue;
		if (key.startsWith('on'))
			made.addEventListener(key.slice(2), value);
		else if (key === 'style')
			for (const [property, text] of Object.entries(value))
				made.style.setProperty(property, text);
		else
			made.setAttribute(key, value === true ? '' : value);
	}
	made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
	return made;
}

export function replace(parent, ...children) {
	parent.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
}

// A part of the page with a heading; the contents list is made of these.
export function section(id, title, ...children) {
	return element('section', { id, 'aria-labelledby': `${id}-title` }, element('h2', { id: `${id}-title` }, title), ...children);
}

export function note(...children) {
	return element('p', { class: 'note' }, ...children);
}

export const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
