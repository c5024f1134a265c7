// Makes the page of 'fathom report --html' without its data, as C source: node build.mjs UPLOT OUTPUT
// Everything is in the one file: styles, the plotting library, our modules. The content security policy names the hashes
// of exactly these, so nothing else can run, whatever the data hold.
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const [uplot, output] = process.argv.slice(2);
const read = (...path) => readFileSync(join(...path), 'utf8');

// Our modules in the order of their imports, as one script: each is a function that returns what it exports.
function bundle(entry) {
	const made = new Map();
	const visit = (path) => {
		if (made.has(path))
			return;
		made.set(path, null);
		const number = made.size, exported = [];
		let text = read(path).replace(/^import\s+(\{[^}]*\})\s+from\s+'(\.[^']+)';\n/gm, (_, names, from) => {
			const other = resolve(dirname(path), from);
			visit(other);
			if (!made.get(other))
				throw new Error(`${path} and ${other} import each other`);
			return `const ${names} = module${made.get(other).number};\n`;
		});
		if (/^import\s|^export\s+(?!(async\s+)?(function|const|class)\s)/m.test(text))
			throw new Error(`${path}: only "import { … } from './…';" and exports of functions, constants and classes are understood`);
		text = text.replace(/^export\s+((?:async\s+)?(?:function|const|class)\s+)(\w+)(.*)$/gm, (_, what, name, rest) => {
			exported.push(name);
			return `${what}${name}${rest}`;
		});
		made.set(path, { number, text: `const module${number} = (() => {\n${text}\nreturn { ${exported.join(', ')} };\n})();` });
	};
	visit(resolve(entry));
	const modules = [...made.values()];
	// a module stands after those that it imports
	const order = [], put = (module) => {
		if (order.includes(module))
			return;
		for (const [, other] of module.text.matchAll(/^const \{[^}]*\} = module(\d+);$/gm))
			put(modules.find((one) => one.number === Number(other)));
		order.push(module);
	};
	modules.forEach(put);
	return `'use strict';\n(() => {\n${order.map((module) => module.text).join('\n')}\n})();\n`;
}

const hash = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

// Comments that hold the license stay with what they belong to; no text may end the element that it is in.
const license = read(uplot, 'LICENSE').trim().replace(/\*\//g, '* /');
const script = `/* uPlot:\n${license}\n*/\n${read(uplot, 'dist/uPlot.iife.min.js')}\n${bundle(join(here, 'src/main.js'))}`;
const style = read(uplot, 'dist/uPlot.min.css') + read(here, 'src/page.css');
if (/<\/script|<!--/i.test(script) || /<\/style/i.test(style))
	throw new Error('a script or style would end its element');

const policy = `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; base-uri 'none'; form-action 'none'`;
const page = read(here, 'src/page.html')
	.replace('{{policy}}', () => policy)
	.replace('{{style}}', () => style)
	.replace('{{script}}', () => script);
const [head, tail] = page.split('{{data}}');

function array(name, text) {
	const bytes = Buffer.from(text);
	let lines = '';
	for (let i = 0; i < bytes.length; i += 32)
		lines += `\t${[...bytes.subarray(i, i + 32)].join(',')},\n`;
	return `const unsigned char ${name}[] = {\n${lines}};\nconst size_t ${name}_bytes = sizeof(${name});\n`;
}

writeFileSync(output, `/* Made by web/build.mjs. */
#include "report/page.h"

const char fm_page_lacks[] = "";
${array('fm_page_head', head)}${array('fm_page_tail', tail)}`);
