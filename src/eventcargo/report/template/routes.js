// Routes: the part of the address after # selects the view, so that every view can be linked and the back button works.

const main = document.getElementById('main');
let current = null;

function show(isFirst) {
  const route = new URLSearchParams(location.hash.slice(1).replace(/\+/g, '%2B'));
  const name = route.get('label');
  current = name === null ? overviewPage() : labelPage(name, route.get('sequence'));
  main.replaceChildren(...current.page.filter(Boolean));
  document.title = `${current.title} · eventcargo report`;
  const crumbs = name === null ? [] : [element('a', {href: '#'}, 'All labels'),
    element('span', {'aria-hidden': 'true'}, '/'), element('span', {'aria-current': 'page'}, current.trail)];
  document.getElementById('trail').replaceChildren(...crumbs);
  current.draw?.();
  const opened = main.querySelector('details[open]');
  if (opened) opened.scrollIntoView();
  else if (!isFirst) {
    scrollTo(0, 0);
    main.querySelector('h1').focus({preventScroll: true});
  }
}

let width = 0;
new ResizeObserver(() => {
  if (width && width !== main.clientWidth) current?.draw?.();
  width = main.clientWidth;
}).observe(main);

addEventListener('hashchange', () => show(false));
addEventListener('beforeprint', () => main.querySelectorAll('details').forEach(each => {
  each.open = true;
  each.dispatchEvent(new Event('toggle'));  // the browser's own event comes too late for printing
}));
addEventListener('keydown', event => {
  const field = document.getElementById('search');
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || !field || event.target.matches('input, select')) return;
  event.preventDefault();
  field.focus();
});
document.getElementById('skip').addEventListener('click', event => { event.preventDefault(); main.focus(); });
document.getElementById('foot').textContent = `Written by eventcargo ${overview.version}. This page loads nothing from the network.`;
show(true);
