// Downloads: tables as CSV, in which no text is a formula, and pictures as SVG with their own colours.

const FORMULA = /^[\s\u200b\ufeff]*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r\n]/;
const DRAWN_BY = ['fill', 'stroke', 'stroke-width', 'stroke-dasharray', 'opacity', 'font-family', 'font-size', 'font-weight', 'text-anchor', 'paint-order'];

// A cell: numbers as they are; text that a spreadsheet would compute begins with an apostrophe.
function csvCell(value) {
  if (!isKnown(value)) return '';
  if (typeof value === 'number') return String(value);
  const inert = FORMULA.test(value) ? `'${value}` : value;
  return /[",;\r\n\t']/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert;
}

const csvText = rows => '\ufeff' + rows.map(row => row.map(csvCell).join(',') + '\r\n').join('');

function save(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], {type}));
  const link = element('a', {href: address, download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

const fileName = (text, ending) => `${text.normalize('NFKD').replace(/[^\w]+/g, '-').replace(/^-+|-+$/g, '').slice(0, 60) || 'report'}.${ending}`;

const downloadButton = (what, kind, act) =>
  element('button', {type: 'button', class: 'download', 'aria-label': `Download ${what} as ${kind}`, onclick: act}, kind);

const csvButton = (what, name, rows) => downloadButton(what, 'CSV', () => save(fileName(name, 'csv'), 'text/csv', csvText(rows())));
const svgButton = (what, name, draw) => downloadButton(what, 'SVG', () => save(fileName(name, 'svg'), 'image/svg+xml', svgText(draw())));

// A drawing as a file of its own: what the style sheet says of each shape is written on the shape.
function svgText(drawing) {
  const room = element('div', {class: 'offstage', 'aria-hidden': 'true'}, drawing);
  document.body.append(room);
  const paper = getComputedStyle(document.querySelector('section') || document.body).backgroundColor;
  for (const node of [drawing, ...drawing.querySelectorAll('*')]) {
    const style = getComputedStyle(node);
    for (const property of DRAWN_BY) {
      const value = style.getPropertyValue(property);
      if (value && value !== 'normal') node.setAttribute(property, value);
    }
    node.removeAttribute('class');
  }
  room.remove();
  drawing.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  drawing.prepend(shape('rect', {width: '100%', height: '100%', fill: paper}));
  return new XMLSerializer().serializeToString(drawing);
}

const CAUSE_COLUMNS = ['label', 'event_type', 'sign', 'odds_ratio', 'odds_low', 'odds_high', 'with_event_and_label', 'with_event', 'without_event_with_label', 'without_event'];

const causeRow = edge => [edge.label.name, names[edge.event], verbOf(edge.sign), edge.odds_ratio, edge.odds_low, edge.odds_high,
  ...(edge.with || [null, null]), ...(edge.without || [null, null])];

const causeRows = edges => [CAUSE_COLUMNS, ...edges.map(causeRow)];
