// Made by `deno task page:build`; the sources are the modules beside this folder.
var n;
var t;
var r;
var u;
var i;
var f;
var o;
var e;
var l;
var c;
var a;
var s;
var h = Symbol.for("pv");
var p = {};
var y = [];
var v = /^m(i|n|o|s|text|space)$/;
var w = Array.isArray;
var d = y.slice;
var _ = Object.assign;
function g(n3) {
  n3 && n3.parentNode && n3.remove();
}
function k(n3, t4, r3) {
  var u3, i3, f3, o3 = {}, e3 = arguments.length;
  for (f3 in t4) "key" == f3 ? u3 = t4[f3] : "ref" == f3 && "function" != typeof n3 ? i3 = t4[f3] : o3[f3] = t4[f3];
  return e3 > 2 && (o3.children = e3 > 3 ? d.call(arguments, 2) : r3), m(n3, o3, u3, i3, null);
}
function m(r3, u3, i3, f3, o3) {
  var e3 = {
    type: r3,
    props: u3,
    key: i3,
    ref: f3,
    __k: null,
    __: null,
    __b: 0,
    __e: null,
    __c: null,
    constructor: h,
    __v: o3 || ++t,
    __i: -1,
    __u: 0
  };
  return !o3 && n.vnode && n.vnode(e3), e3;
}
function $(n3) {
  return n3.children;
}
function x(n3, t4) {
  this.props = n3, this.context = t4, this.__g = 0;
}
function S(n3, t4) {
  if (null == t4) return n3.__ && S(n3.__, n3.__i + 1);
  for (var r3; t4 < n3.__k.length; t4++) if ((r3 = n3.__k[t4]) && r3.__e) return r3.__e;
  return "function" != typeof n3.type || n3.props.__P ? null : S(n3);
}
function C(t4) {
  var r3, u3 = t4.__v, i3 = u3.__e, f3 = [], o3 = [], e3 = t4.__P;
  e3 && ((r3 = _({
    constructor: h
  }, u3)).__v = u3.__v + 1, n.vnode && n.vnode(r3), z(e3, r3, u3, t4.__n, e3.namespaceURI, 32 & u3.__u ? [
    i3
  ] : null, f3, i3 || S(u3), 32 & u3.__u, o3), r3.__v = u3.__v, r3.__.__k[r3.__i] = r3, E(f3, r3, o3), u3.__ = u3.__e = null, r3.__e != i3 && j(r3));
}
function j(n3) {
  if ((n3 = n3.__) && n3.__c && !n3.props.__P) return n3.__e = null, n3.__k.some(function(t4) {
    return t4 && (n3.__e = t4.__e);
  }), j(n3);
}
function L(t4) {
  (8 & t4.__g || (t4.__g |= 8, u.push(t4), f++)) && i == n.debounceRendering || ((i = n.debounceRendering) || queueMicrotask)(H);
}
function H() {
  try {
    for (var n3, t4 = 1; u.length; ) u.length > t4 && u.sort(o), n3 = u.shift(), t4 = u.length, 8 & n3.__g && C(n3);
  } finally {
    (f = u.length) && (i || queueMicrotask)(H);
  }
}
function I(n3, t4, r3, u3, i3, f3, o3, e3, l3, c3, a3) {
  var s3, h3, v3, w3, d3, _3, g3 = u3.__k || y, k3 = t4.length;
  for (l3 = q(r3, t4, g3, l3, k3), s3 = 0; s3 < k3; s3++) null != (v3 = r3.__k[s3]) && (h3 = ~v3.__i && g3[v3.__i] || p, v3.__i = s3, _3 = z(n3, v3, h3, i3, f3, o3, e3, l3, c3, a3), w3 = v3.__e, (h3.ref != v3.ref || 8 & h3.__u) && (h3.ref && G(h3.ref, null, v3, h3), v3.ref && a3.push(v3.ref, v3.__c || w3, v3)), d3 = d3 || w3, 4 & v3.__u ? (l3 = A(v3, l3, n3, !h3.__v), h3.__e && (h3.__e = null)) : "function" == typeof v3.type && void 0 !== _3 ? l3 = _3 : w3 && (l3 = w3.nextSibling), v3.__u &= -21);
  return r3.__e = d3, l3;
}
function q(n3, t4, r3, u3, i3) {
  var f3, o3, e3, l3, c3, a3, s3, p3, y3, v3 = r3.length, d3 = v3, _3 = 0, g3 = 0, k3 = n3.__k = Array(i3);
  for (f3 = 0; f3 < i3; f3++) null != (o3 = t4[f3]) && "boolean" != typeof o3 && "function" != typeof o3 ? ("object" != typeof o3 || o3.constructor === String ? o3 = k3[f3] = m(null, o3) : w(o3) ? o3 = k3[f3] = m($, {
    children: o3
  }) : o3.constructor === h && o3.__b ? o3 = k3[f3] = m(o3.type, o3.props, o3.key, o3.ref, o3.__v) : k3[f3] = o3, l3 = f3 + _3, o3.__ = n3, o3.__b = n3.__b + 1, e3 = null, ~(c3 = o3.__i = P(o3, r3, l3, d3)) && (d3--, (e3 = r3[c3]) && (e3.__u |= 2)), e3 && e3.__v ? (o3.__u |= 16, c3 == l3 - 1 ? _3-- : c3 == l3 + 1 ? _3++ : c3 != l3 && (c3 > l3 ? _3-- : _3++, g3 = 1)) : (~c3 || (i3 > v3 ? _3-- : i3 < v3 && _3++), "function" != typeof o3.type && (o3.__u |= 4))) : k3[f3] = null;
  if (g3) {
    for (a3 = [], s3 = [], f3 = 0; f3 < i3; f3++) if ((o3 = k3[f3]) && 16 & o3.__u) {
      for (_3 = 0, p3 = a3.length; _3 < p3; ) a3[y3 = _3 + p3 >> 1] < o3.__i ? _3 = y3 + 1 : p3 = y3;
      a3[_3] = o3.__i, s3[f3] = _3 + 1;
    }
    for (_3 = a3.length; f3--; ) s3[f3] && (s3[f3] == _3 ? _3-- : k3[f3].__u |= 4);
  }
  if (d3) for (f3 = 0; f3 < v3; f3++) !(e3 = r3[f3]) || 2 & e3.__u || (e3.__e == u3 && (u3 = S(e3)), J(e3, e3));
  return u3;
}
function A(n3, t4, r3, u3) {
  var i3, f3, o3, e3;
  if ("function" == typeof n3.type) {
    if (n3.props.__P) return t4;
    if (i3 = n3.__k) for (f3 = 0; f3 < i3.length; f3++) i3[f3] && (i3[f3].__ = n3, t4 = A(i3[f3], t4, r3, false));
    return t4;
  }
  for (t4 && !t4.parentNode && (t4 = S(n3)) && !t4.parentNode && (t4 = null), o3 = n3.__e, e3 = t4; e3 && 8 == e3.nodeType; ) e3 = e3.nextSibling;
  for (o3 != e3 && (!u3 && r3.moveBefore && o3.parentNode ? r3.moveBefore(o3, t4) : r3.insertBefore(o3, t4 || null)), t4 = o3; (t4 = t4 && t4.nextSibling) && 8 == t4.nodeType && !t4.data.startsWith("$s"); ) ;
  return t4;
}
function P(n3, t4, r3, u3) {
  var i3, f3 = n3.key, o3 = n3.type, e3 = t4[r3], l3 = e3 && !(2 & e3.__u);
  if (null === e3 && null == f3 || l3 && f3 == e3.key && o3 == e3.type) return r3;
  if (u3 > (l3 ? 1 : 0)) {
    for (i3 = r3 - 1; i3 >= 0; i3--) if ((e3 = t4[i3]) && !(2 & e3.__u) && f3 == e3.key && o3 == e3.type) return i3;
    for (i3 = r3 + 1; i3 < t4.length; i3++) if ((e3 = t4[i3]) && !(2 & e3.__u) && f3 == e3.key && o3 == e3.type) return i3;
  }
  return -1;
}
function T(n3, t4, r3) {
  null == r3 && (r3 = ""), "-" == t4[0] ? n3.setProperty(t4, r3) : n3[t4] = r3;
}
function N(n3, t4, r3, u3, i3) {
  var f3, o3;
  if ("style" == t4) if ("string" == typeof r3) n3.style.cssText = r3;
  else {
    if ("string" == typeof u3 && (n3.style.cssText = u3 = ""), u3) for (t4 in u3) r3 && t4 in r3 || T(n3.style, t4);
    if (r3) for (t4 in r3) u3 && r3[t4] == u3[t4] || T(n3.style, t4, r3[t4]);
  }
  else if ("o" == t4[0] && "n" == t4[1]) "function" != typeof r3 && (r3 = null), "function" != typeof u3 && (u3 = null), (n3.__e || (n3.__e = {}))[t4] = r3, r3 && u3 || (o3 = a[t4] || (a[t4] = V(t4)), (n3.__a || (n3.__a = {}))[t4] = c, f3 = t4 != (t4 = t4.replace(l, "$1")), (t4 = t4.slice(2))[0] < "a" && (t4 = t4.toLowerCase()), r3 ? n3.addEventListener(t4, o3, f3) : n3.removeEventListener(t4, o3, f3));
  else {
    if ("http://www.w3.org/2000/svg" == i3) t4 = t4.replace(/xlink(H|:h)/, "h").replace(/sName$/, "s");
    else if ("width" != t4 && "height" != t4 && "href" != t4 && "list" != t4 && "form" != t4 && "tabIndex" != t4 && "download" != t4 && "rowSpan" != t4 && "colSpan" != t4 && "role" != t4 && "popover" != t4 && t4 in n3) try {
      return void (n3[t4] = null == r3 ? "" : r3);
    } catch (n4) {
    }
    if ("function" == typeof r3) return;
    null == r3 || false === r3 && "-" != t4[4] ? n3.removeAttribute(t4) : n3.setAttribute(t4, "popover" == t4 && 1 == r3 ? "" : r3);
  }
}
function V(t4) {
  return function(r3) {
    var u3 = this.__e;
    if (u3) {
      if (u3 = u3[t4], null == r3[e]) r3[e] = c++;
      else if (r3[e] < this.__a[t4]) return;
      return u3(n.event ? n.event(r3) : r3);
    }
  };
}
function z(t4, r3, u3, i3, f3, o3, e3, l3, c3, a3) {
  var s3, p3, v3, d3, k3, b, m4, M, C3, j2, L2, H2, q2, A3, O, P2, T3, N2, V2 = r3.type;
  if (r3.constructor !== h) return null;
  128 & u3.__u && (c3 = 32 & u3.__u, s3 = u3.__c.__z) && (r3.__u |= c3, p3 = o3 = [], 8 == s3.nodeType ? l3 = B(s3, o3) : o3.push(s3), l3 = o3[0] || l3), (s3 = n.__b) && s3(r3);
  n: if ("function" == typeof V2) {
    v3 = e3.length;
    try {
      if (M = r3.props, C3 = (s3 = V2.prototype) && s3.render, j2 = (s3 = V2.contextType) && i3[s3.__c], L2 = s3 ? j2 ? j2.props.value : s3.__ : i3, (d3 = u3.__c) ? (r3.__c = d3, 2 & d3.__g && (d3.__g |= 1)) : (C3 ? r3.__c = d3 = new V2(M, L2) : (r3.__c = d3 = new x(M, L2), d3.constructor = V2, d3.render = K), j2 && j2.sub(d3), d3.state || (d3.state = {}), d3.__n = i3, d3.__g |= 8, d3.__h = [], d3.__k = []), C3 && (d3.__s || (d3.__s = d3.state), V2.getDerivedStateFromProps && (d3.__s == d3.state && (d3.__s = _({}, d3.__s)), _(d3.__s, V2.getDerivedStateFromProps(M, d3.__s)))), k3 = d3.props, b = d3.state, d3.__v = r3, u3.__c) {
        if (M !== k3 && C3 && !V2.getDerivedStateFromProps && d3.componentWillReceiveProps && d3.componentWillReceiveProps(M, L2), r3.__v == u3.__v && !(8 & d3.__g) || !(4 & d3.__g) && d3.shouldComponentUpdate && false === d3.shouldComponentUpdate(M, d3.__s, L2)) {
          r3.__v != u3.__v && (d3.props = M, d3.state = d3.__s, d3.__g &= -9), r3.__e = u3.__e, r3.__k = u3.__k, r3.__k.some(function(n3) {
            n3 && (n3.__ = r3);
          }), y.push.apply(d3.__h, d3.__k), d3.__k = [], d3.__h.length && e3.push(d3), l3 = S(u3);
          break n;
        }
        d3.componentWillUpdate && d3.componentWillUpdate(M, d3.__s, L2), C3 && d3.componentDidUpdate && d3.__h.push(function() {
          d3.componentDidUpdate(k3, b, m4);
        });
      } else C3 && !V2.getDerivedStateFromProps && d3.componentWillMount && d3.componentWillMount(), C3 && d3.componentDidMount && d3.__h.push(d3.componentDidMount);
      d3.context = L2, d3.props = M, d3.__P = t4, d3.__g &= -5, H2 = n.__r, q2 = C3 ? 25 : 0;
      do {
        d3.__g &= -9, H2 && H2(r3), s3 = d3.render(d3.props, d3.state = d3.__s, d3.context);
      } while (8 & d3.__g && ++q2 < 25);
      C3 && (y.push.apply(d3.__h, d3.__k), d3.__k = []), d3.state = d3.__s, d3.getChildContext && (i3 = _({}, i3, d3.getChildContext())), C3 && u3.__c && d3.getSnapshotBeforeUpdate && (m4 = d3.getSnapshotBeforeUpdate(k3, b)), A3 = s3 && s3.type === $ && null == s3.key ? s3.props.children : s3, M.__P && (s3 = l3, f3 = (t4 = M.__P).namespaceURI, c3 = o3 = null, u3.props && u3.props.__P != t4 && (u3.__k.some(function(n3) {
        n3 && J(n3, n3);
      }), u3.__k = null), l3 = u3.__k ? S(u3, 0) : null), l3 = I(t4, w(A3) ? A3 : [
        A3
      ], r3, u3, i3, f3, o3, e3, l3, c3, a3), M.__P && (r3.__e = null, l3 = s3), r3.__u &= -161, p3 && p3.some(g), d3.__h.length && e3.push(d3), 1 & d3.__g && (d3.__g &= -4);
    } catch (t5) {
      if (e3.length = v3, r3.__v = null, c3 || o3) if (t5 && t5.then) {
        if (r3.__u |= 128 | c3, o3) {
          for (~(T3 = o3.indexOf(l3 || void 0)) || (T3 = o3.length); (N2 = o3[T3 - 1]) && 8 == N2.nodeType; ) T3--;
          for (; T3 < o3.length; T3++) if (N2 = o3[T3]) if (o3[T3] = null, O) {
            if (N2 == P2) break;
          } else {
            if (8 != N2.nodeType) break;
            N2.data.startsWith("$s") && (P2 = B(O = N2));
          }
        }
        if (!O) {
          for (; l3 && 8 == l3.nodeType && l3.nextSibling; ) l3 = l3.nextSibling;
          O = l3;
        }
        (s3 = B(O = r3.__c.__z || (r3.__c.__z = O))) ? (r3.__e = O, l3 = s3) : r3.__e = l3, l3 = l3 && l3.nextSibling;
      } else o3 && o3.some(g);
      else r3.__e = u3.__e;
      r3.__k || (r3.__k = u3.__k || []), t5 && t5.then || D(r3), n.__e(t5, r3, u3);
    }
  } else l3 = r3.__e = F(u3.__e, r3, u3, i3, f3, o3, e3, c3, a3, t4);
  return (s3 = n.diffed) && s3(r3), l3;
}
function B(n3, t4) {
  if (n3 && 8 == n3.nodeType && n3.data.startsWith("$s")) for (var r3 = 1; n3 = n3.nextSibling; ) {
    if (8 == n3.nodeType) {
      if (n3.data.startsWith("$s")) r3++;
      else if (n3.data.startsWith("/$s") && !--r3) return n3;
    }
    t4 && t4.push(n3);
  }
}
function D(n3) {
  n3 && (n3.__c && (n3.__c.__g |= 4), n3.__k && n3.__k.some(D));
}
function E(t4, r3, u3) {
  for (var i3 = 0; i3 < u3.length; ) G(u3[i3++], u3[i3++], u3[i3++]);
  n.__c && n.__c(r3, t4), t4.some(function(r4) {
    try {
      t4 = r4.__h, r4.__h = [], t4.some(function(n3) {
        n3.call(r4);
      });
    } catch (t5) {
      n.__e(t5, r4.__v);
    }
  });
}
function F(t4, r3, u3, i3, f3, o3, e3, l3, c3, a3) {
  var s3, h3, y3, _3, k3, b, m4, M, $2 = u3.props || p, x2 = r3.props, C3 = r3.type;
  if ("svg" == C3 ? f3 = "http://www.w3.org/2000/svg" : "math" == C3 ? f3 = "http://www.w3.org/1998/Math/MathML" : f3 || (f3 = "http://www.w3.org/1999/xhtml"), o3) {
    for (s3 = 0; s3 < o3.length; s3++) if ((k3 = o3[s3]) && (C3 ? k3.localName == C3 : 3 == k3.nodeType)) {
      t4 = k3, o3[s3] = null;
      break;
    }
  }
  if (!t4) {
    if (M = a3.ownerDocument || document, !C3) return M.createTextNode(x2);
    t4 = M.createElementNS(f3, C3, x2.is ? x2 : a3), l3 && (n.__m && n.__m(r3, o3), l3 = false), o3 = null;
  }
  if (C3) {
    if (a3 = "template" == C3 && t4.content || t4, o3 = "textarea" == C3 && null != x2.defaultValue ? null : o3 && d.call(a3.childNodes), !l3 && o3) for ($2 = {}, s3 = 0; s3 < t4.attributes.length; s3++) $2[(k3 = t4.attributes[s3]).name] = k3.value;
    for (s3 in $2) k3 = $2[s3], "dangerouslySetInnerHTML" == s3 ? y3 = k3 : "children" == s3 || s3 in x2 || "value" == s3 && "defaultValue" in x2 || "checked" == s3 && "defaultChecked" in x2 || N(t4, s3, null, k3, f3);
    for (s3 in x2) k3 = x2[s3], "children" == s3 ? _3 = k3 : "dangerouslySetInnerHTML" == s3 ? h3 = k3 : "value" == s3 ? b = k3 : "checked" == s3 ? m4 = k3 : l3 && "function" != typeof k3 || $2[s3] === k3 || N(t4, s3, k3, $2[s3], f3);
    h3 ? (l3 || y3 && (h3.__html == y3.__html || h3.__html == t4.innerHTML) || (t4.innerHTML = h3.__html), r3.__k = []) : (y3 && (t4.textContent = ""), ("foreignObject" == C3 || "http://www.w3.org/1998/Math/MathML" == f3 && v.test(C3)) && (f3 = "http://www.w3.org/1999/xhtml"), I(a3, w(_3) ? _3 : [
      _3
    ], r3, u3, i3, f3, o3, e3, o3 ? o3[0] : u3.__k && S(u3, 0), l3, c3), o3 && o3.some(g)), l3 && "textarea" != C3 || (s3 = "value", "progress" == C3 && null == b ? t4.removeAttribute(s3) : null == b || b === t4[s3] && ("progress" != C3 || b) || N(t4, s3, b, $2[s3], f3), s3 = "checked", null != m4 && m4 != t4[s3] && N(t4, s3, m4, $2[s3], f3));
  } else $2 === x2 || l3 && t4.data == x2 || (t4.data = x2);
  return t4;
}
function G(t4, r3, u3, i3) {
  try {
    "function" == typeof t4 ? r3 ? r3.__x = t4(r3) || 1 : i3 && (i3 = i3.__c || i3.__e) && (r3 = i3.__x) && (i3.__x = null, "function" == typeof r3 ? r3() : t4(null)) : t4.current = r3;
  } catch (t5) {
    n.__e(t5, u3);
  }
}
function J(t4, r3, u3) {
  var i3, f3, o3, e3;
  if (n.unmount && n.unmount(t4), !(i3 = t4.ref) || i3.current && i3.current != t4.__e || G(i3, null, r3, t4), i3 = t4.__c) {
    if (i3.componentWillUnmount) try {
      i3.componentWillUnmount();
    } catch (t5) {
      n.__e(t5, r3);
    }
    i3.__P = i3.__n = null;
  }
  if (i3 = t4.__k) for (e3 = 0; e3 < i3.length; e3++) i3[e3] && J(i3[e3], r3, "function" != typeof t4.type || u3 && !t4.props.__P);
  !u3 && (i3 = t4.__c) && (i3 = i3.__z) && (f3 = B(i3, o3 = [])) && (i3 == t4.__e && o3.some(g), g(f3), g(i3)), u3 || g(t4.__e), t4.__e = t4.__c = t4.__ = null;
}
function K(n3, t4, r3) {
  return this.constructor(n3, r3);
}
function Q(t4, r3) {
  var u3, i3, f3, o3;
  n.__ && n.__(t4, r3), 9 == r3.nodeType && (r3 = r3.documentElement), i3 = (u3 = t4 && 32 & t4.__u) ? null : r3.__k, r3.__k = m($, {
    children: [
      t4
    ]
  }), f3 = [], o3 = [], z(r3, r3.__k, i3 || p, p, r3.namespaceURI, i3 ? null : r3.firstChild ? d.call(r3.childNodes) : null, f3, i3 ? i3.__e : r3.firstChild, u3, o3), E(f3, r3.__k, o3), r3.__k.props.children = null;
}
n = {
  __e: function(n3, t4, r3, u3) {
    for (var i3, o3, e3; t4 = t4.__; ) if ((i3 = t4.__c) && !(1 & i3.__g)) {
      i3.__g |= 4;
      try {
        if ((e3 = (o3 = i3.constructor) && o3.getDerivedStateFromError) && i3.setState(o3.getDerivedStateFromError(n3)), i3.componentDidCatch && (i3.componentDidCatch(n3, u3 || {}), e3 = 1), e3 && 8 & i3.__g) return void (i3.__g |= 2);
      } catch (t5) {
        n3 = t5;
      }
    }
    throw f = 0, n3;
  }
}, t = 0, r = function(n3) {
  return null != n3 && n3.constructor === h;
}, x.prototype.setState = function(n3, t4) {
  var r3 = this.__s;
  r3 && r3 != this.state || (r3 = this.__s = _({}, this.state)), "function" == typeof n3 && (n3 = n3(_({}, r3), this.props)), n3 && (_(r3, n3), this.__v && (t4 && this.__k.push(t4), L(this)));
}, x.prototype.forceUpdate = function(n3) {
  this.__v && (this.__g |= 4, n3 && this.__h.push(n3), L(this));
}, x.prototype.render = $, u = [], f = 0, o = function(n3, t4) {
  return n3.__v.__b - t4.__v.__b;
}, e = Symbol(), l = /(PointerCapture)$|Capture$/i, c = 0, a = {}, s = 0;

var n2 = function(t4, s3, r3, e3) {
  var u3;
  s3[0] = 0;
  for (var h3 = 1; h3 < s3.length; h3++) {
    var p3 = s3[h3++], a3 = s3[h3] ? (s3[0] |= p3 ? 1 : 2, r3[s3[h3++]]) : s3[++h3];
    3 === p3 ? e3[0] = a3 : 4 === p3 ? e3[1] = Object.assign(e3[1] || {}, a3) : 5 === p3 ? (e3[1] = e3[1] || {})[s3[++h3]] = a3 : 6 === p3 ? e3[1][s3[++h3]] += a3 + "" : p3 ? (u3 = t4.apply(a3, n2(t4, a3, r3, [
      "",
      null
    ])), e3.push(u3), a3[0] ? s3[0] |= 2 : (s3[h3 - 2] = 0, s3[h3] = u3)) : e3.push(a3);
  }
  return e3;
};
var t2 = /* @__PURE__ */ new Map();
function htm_module_default(s3) {
  var r3 = t2.get(this);
  return r3 || (r3 = /* @__PURE__ */ new Map(), t2.set(this, r3)), (r3 = n2(this, r3.get(s3) || (r3.set(s3, r3 = function(n3) {
    for (var t4, s4, r4 = 1, e3 = "", u3 = "", h3 = [
      0
    ], p3 = function(n4) {
      1 === r4 && (n4 || (e3 = e3.replace(/^\s*\n\s*|\s*\n\s*$/g, ""))) ? h3.push(0, n4, e3) : 3 === r4 && (n4 || e3) ? (h3.push(3, n4, e3), r4 = 2) : 2 === r4 && "..." === e3 && n4 ? h3.push(4, n4, 0) : 2 === r4 && e3 && !n4 ? h3.push(5, 0, true, e3) : r4 >= 5 && ((e3 || !n4 && 5 === r4) && (h3.push(r4, 0, e3, s4), r4 = 6), n4 && (h3.push(r4, n4, 0, s4), r4 = 6)), e3 = "";
    }, a3 = 0; a3 < n3.length; a3++) {
      a3 && (1 === r4 && p3(), p3(a3));
      for (var l3 = 0; l3 < n3[a3].length; l3++) t4 = n3[a3][l3], 1 === r4 ? "<" === t4 ? (p3(), h3 = [
        h3
      ], r4 = 3) : e3 += t4 : 4 === r4 ? "--" === e3 && ">" === t4 ? (r4 = 1, e3 = "") : e3 = t4 + e3[0] : u3 ? t4 === u3 ? u3 = "" : e3 += t4 : '"' === t4 || "'" === t4 ? u3 = t4 : ">" === t4 ? (p3(), r4 = 1) : r4 && ("=" === t4 ? (r4 = 5, s4 = e3, e3 = "") : "/" === t4 && (r4 < 5 || ">" === n3[a3][l3 + 1]) ? (p3(), 3 === r4 && (h3 = h3[0]), r4 = h3, (h3 = h3[0]).push(2, 0, r4), r4 = 0) : " " === t4 || "	" === t4 || "\n" === t4 || "\r" === t4 ? (p3(), r4 = 2) : e3 += t4), 3 === r4 && "!--" === e3 && (r4 = 4, h3 = h3[0]);
    }
    return p3(), h3;
  }(s3)), r3), arguments, [])).length > 1 ? r3 : r3[0];
}

var m2 = htm_module_default.bind(k);

var t3;
var r2;
var u2;
var i2;
var o2 = Object.is;
var f2 = 0;
var c2 = [];
var e2 = [];
var a2 = n;
var v2 = a2.__b;
var l2 = a2.__r;
var m3 = a2.diffed;
var h2 = a2.__c;
var s2 = a2.unmount;
var p2 = a2.__;
function y2(n3, t4) {
  a2.__h && a2.__h(r2, n3, f2 || t4), f2 = 0;
  var u3 = r2.__H || (r2.__H = {
    __: [],
    __h: []
  });
  return n3 >= u3.__.length && u3.__.push({}), u3.__[n3];
}
function d2(n3) {
  return f2 = 1, _2(G2, n3);
}
function _2(n3, u3, i3) {
  var f3 = y2(t3++, 2);
  if (f3.t = n3, !f3.__c && (f3.__ = [
    i3 ? i3(u3) : G2(void 0, u3),
    function(n4) {
      var t4 = (f3.__N || f3.__)[0], r3 = f3.t(t4, n4);
      o2(t4, r3) || (f3.__N = [
        r3,
        f3.__[1]
      ], f3.__c.setState({}));
    }
  ], f3.__c = r2, !r2.__f)) {
    r2.__f = true;
    var c3 = r2.shouldComponentUpdate;
    r2.shouldComponentUpdate = function(n4, t4, r3) {
      var u4 = this.__H;
      if (!u4) return true;
      var i4 = false, f4 = this.props != n4;
      if (u4.__.some(function(n5) {
        n5.__N && (i4 = true, o2(n5.__[0], n5.__N[0]) || (f4 = true));
      }), c3) {
        var e3 = c3.call(this, n4, t4, r3);
        return i4 ? e3 || f4 : e3;
      }
      return !i4 || f4;
    };
  }
  return f3.__;
}
function A2(n3, u3) {
  var i3 = y2(t3++, 3);
  !a2.__s && E2(i3.__H, u3) && (i3.__P = true, i3.__ = n3, i3.u = u3, r2.__H.__h.push(i3));
}
function T2(n3) {
  return f2 = 5, w2(function() {
    return {
      current: n3
    };
  }, []);
}
function w2(n3, r3) {
  var u3 = y2(t3++, 7);
  return E2(u3.__H, r3) && (u3.__ = n3(), u3.__H = r3), u3.__;
}
function g2() {
  var n3;
  do {
    for (; n3 = e2.shift(); ) try {
      C2(n3);
    } catch (t5) {
      a2.__e(t5, {
        __: (n3 = n3.__P) && n3.__v
      });
    }
    for (; n3 = c2.shift(); ) {
      var t4 = n3.__H;
      if (n3.__P && t4) try {
        t4.__h.some(C2), t4.__h.some(D2), t4.__h = [];
      } catch (r3) {
        t4.__h = [], a2.__e(r3, n3.__v);
      }
    }
  } while (e2.length);
}
a2.__b = function(n3) {
  r2 = null, v2 && v2(n3);
}, a2.__ = function(n3, t4) {
  n3 && t4.__k && t4.__k.__m && (n3.__m = t4.__k.__m), p2 && p2(n3, t4);
}, a2.__r = function(n3) {
  l2 && l2(n3), t3 = 0;
  var i3 = (r2 = n3.__c).__H;
  i3 && (u2 == r2 ? r2.__h = [] : (i3.__h.some(C2), i3.__h.some(D2), t3 = 0), i3.__h = [], i3.__.some(function(n4) {
    n4.__N && (n4.__ = n4.__N), n4.u = n4.__N = void 0;
  })), u2 = r2;
}, a2.diffed = function(n3) {
  m3 && m3(n3);
  var t4 = n3.__c;
  t4 && t4.__H && (t4.__H.__h.length && B2(c2.push(t4)), t4.__H.__.some(function(n4) {
    n4.u && (n4.__H = n4.u);
  })), u2 = r2 = null;
}, a2.__c = function(n3, t4) {
  t4.some(function(n4) {
    try {
      n4.__h.some(C2), n4.__h = n4.__h.filter(function(n5) {
        return !n5.__ || D2(n5);
      });
    } catch (t5) {
      n4.__h = [
        function() {
          throw t5;
        }
      ];
    }
  }), h2 && h2(n3, t4);
}, a2.unmount = function(n3) {
  s2 && s2(n3);
  var t4, r3, u3 = n3.__c;
  u3 && u3.__H && (u3.__H.__.some(function(u4) {
    try {
      if (u4.__P && u4.__c) {
        if (void 0 === r3) {
          for (r3 = n3.__; r3 && (!r3.__c || !r3.__c.__P); ) r3 = r3.__;
          r3 = r3 && r3.__c;
        }
        u4.__P = r3, B2(e2.push(u4));
      } else C2(u4);
    } catch (n4) {
      t4 = n4;
    }
  }), u3.__H = void 0, t4 && a2.__e(t4, u3.__v));
};
var k2 = "function" == typeof requestAnimationFrame;
function z2(n3) {
  var t4, r3 = function() {
    clearTimeout(u3), k2 && cancelAnimationFrame(t4), setTimeout(n3);
  }, u3 = setTimeout(r3, 35);
  k2 && (t4 = requestAnimationFrame(r3));
}
function B2(n3) {
  1 != n3 && i2 == a2.requestAnimationFrame || ((i2 = a2.requestAnimationFrame) || z2)(g2);
}
function C2(n3) {
  var t4 = r2, u3 = n3.__c;
  "function" == typeof u3 && (n3.__c = void 0, u3()), r2 = t4;
}
function D2(n3) {
  var t4 = r2;
  n3.__c = n3.__(), r2 = t4;
}
function E2(n3, t4) {
  return !n3 || n3.length != t4.length || t4.some(function(t5, r3) {
    return !o2(t5, n3[r3]);
  });
}
function G2(n3, t4) {
  return "function" == typeof t4 ? t4(n3) : t4;
}

function grouped(number) {
  return Math.round(number).toString().replace(/\B(?=(\d{3})+$)/g, ",");
}
function plural(number, noun) {
  return `${grouped(number)} ${noun}${number === 1 ? "" : "s"}`;
}

function workerUrl() {
  const own = document.querySelector("#doctor-worker")?.textContent;
  return own ? URL.createObjectURL(new Blob([
    own
  ], {
    type: "text/javascript"
  })) : "assets/doctor_worker.js";
}
function startWorker(onLost) {
  const waiting = /* @__PURE__ */ new Map();
  let next = 0;
  const worker = new Worker(workerUrl());
  worker.addEventListener("message", ({ data: { id, answer } }) => {
    const { resolve, reject } = waiting.get(id) ?? {};
    waiting.delete(id);
    if (answer.kind === "failed") reject?.(new Error(answer.message));
    else resolve?.(answer);
  });
  worker.addEventListener("error", (event) => {
    event.preventDefault();
    for (const { reject } of waiting.values()) {
      reject(new Error("The part of the page that reads has stopped"));
    }
    waiting.clear();
    onLost();
  });
  return (ask, kind) => new Promise((resolve, reject) => {
    const id = next++;
    waiting.set(id, {
      resolve: (answer) => {
        if (answer.kind === kind) resolve(answer);
        else reject(new Error(`Cannot use the answer: found ${answer.kind}, wanted ${kind}`));
      },
      reject
    });
    worker.postMessage({
      id,
      ask
    });
  });
}

var call = ({ id, name, input }) => ({
  type: "tool_use",
  id,
  name,
  input
});
var result = (id, content) => ({
  type: "tool_result",
  tool_use_id: id,
  content
});
var asks = (text, ...calls) => ({
  role: "assistant",
  content: [
    {
      type: "text",
      text
    },
    ...calls.map(call)
  ]
});
var answers = (...content) => ({
  role: "user",
  content
});
var LOG = Array.from({
  length: 60
}, (_3, line) => `12:${String(line).padStart(2, "0")} worker ${line % 4}: batch ${line} done, ${line * 37} rows`).join("\n");
var BROKEN_EXAMPLE = JSON.stringify({
  messages: [
    {
      role: "user",
      content: "Why did last night's import stop? Look at the log, then fix it."
    },
    asks("I will look at the log.", {
      id: "c1",
      name: "read_log",
      input: {
        file: "import.log"
      }
    }),
    answers(result("c1", LOG)),
    asks("Two files may be to blame.", {
      id: "c2",
      name: "read_file",
      input: {
        path: "src/import.ts"
      }
    }, {
      id: "c3",
      name: "read_file",
      input: {
        path: "src/rows.ts"
      }
    }),
    answers(result("c2", `export function importRows() {
${"  // reads a batch\n".repeat(80)}}`)),
    asks("The second file was never read. I try the tests.", {
      id: "c4",
      name: "run_tests",
      input: {
        only: "import"
      }
    }),
    answers(result("c4", "1 failed: import stops at row 2183\n" + LOG), result("c9", "a result of a call that is gone")),
    asks("Row 2183 has no date. I skip such rows.", {
      id: "c5",
      name: "write_file",
      input: {
        path: "src/rows.ts",
        text: "export const hasDate = (row) => row.date !== null;\n"
      }
    }),
    answers({
      type: "text",
      text: "Please be quick."
    }, result("c5", "written")),
    asks("Once more, the tests.", {
      id: "c6",
      name: "run_tests",
      input: {
        only: "import"
      }
    }),
    answers(result("c6", "12 passed"), result("c6", "12 passed")),
    {
      role: "assistant",
      content: "It is fixed: rows without a date are skipped."
    }
  ]
}, null, 2);

function nameOf(text) {
  const [first = "", second = ""] = text.trimStart().split("\n", 2);
  return /^\{.*\}\s*$/.test(first) && second.startsWith("{") ? "pasted.jsonl" : "pasted.json";
}
function Intake({ isCompact, isBusy, onOpen, onExample }) {
  const [isOver, setOver] = d2(false);
  const [text, setText] = d2("");
  const input = T2(null);
  const latest = T2(onOpen);
  latest.current = onOpen;
  A2(() => {
    const over = (event) => {
      event.preventDefault();
      setOver(true);
    };
    const leave = (event) => {
      if (event.relatedTarget === null) setOver(false);
    };
    const drop = (event) => {
      event.preventDefault();
      setOver(false);
      const file = event.dataTransfer?.files[0];
      const dropped = event.dataTransfer?.getData("text/plain") ?? "";
      if (file) latest.current(file.name, file);
      else if (dropped) latest.current(nameOf(dropped), dropped);
    };
    const paste = (event) => {
      const file = event.clipboardData?.files[0];
      const pasted = event.clipboardData?.getData("text/plain") ?? "";
      if (!file && pasted.trim() === "") return;
      event.preventDefault();
      if (file) latest.current(file.name, file);
      else latest.current(nameOf(pasted), pasted);
    };
    document.addEventListener("dragover", over);
    document.addEventListener("dragleave", leave);
    document.addEventListener("drop", drop);
    document.addEventListener("paste", paste);
    return () => {
      document.removeEventListener("dragover", over);
      document.removeEventListener("dragleave", leave);
      document.removeEventListener("drop", drop);
      document.removeEventListener("paste", paste);
    };
  }, []);
  return m2`
    <section class=${[
    "intake",
    isCompact ? "compact" : "",
    isOver ? "over" : ""
  ].join(" ")}
      aria-label="Bring a transcript">
      <p class="drop-title">${isCompact ? "Another one?" : "Drop a transcript here"}</p>
      <p class="actions">
        <button type="button" class="main" disabled=${isBusy} onClick=${() => input.current?.click()}>
          Choose a file</button>
        <button type="button" disabled=${isBusy} onClick=${onExample}>Try a broken example</button>
      </p>
      <input ref=${input} type="file" class="hidden" tabindex="-1" aria-label="Transcript file"
        onChange=${(event) => {
    const field = event.target;
    const file = field.files?.[0];
    if (file) onOpen(file.name, file);
    field.value = "";
  }} />
      <details>
        <summary>Paste text instead</summary>
        <textarea aria-label="Transcript as JSON or JSON lines" rows="4" spellcheck=${false} value=${text}
          placeholder='[{"role":"user","content":"…"}, …]'
          onInput=${(event) => setText(event.target.value)}></textarea>
        <button type="button" disabled=${isBusy || text.trim() === ""}
          onClick=${() => onOpen(nameOf(text), text)}>Examine</button>
      </details>
      ${!isCompact && m2`<p class="fine">JSON or JSON lines, up to 16 MiB, in the format of OpenAI (Chat Completions or
        Responses), Anthropic, Gemini or the AI SDK. Session logs of agents are read too.</p>`}
    </section>
  `;
}

var BLOCK_WIDTH = 9;
var KIND_NAMES = {
  system: "System",
  user: "User",
  assistant: "Assistant",
  summary: "Summary",
  stray: "Stray result"
};
function kindOf(atoms) {
  if (atoms.some(({ kind }) => kind === "stray")) return "stray";
  if (atoms.some(({ kind }) => kind === "summary")) return "summary";
  const sums = /* @__PURE__ */ new Map();
  for (const { kind, tokens } of atoms) sums.set(kind, (sums.get(kind) ?? 0) + tokens);
  return [
    ...sums
  ].toSorted((a3, b) => b[1] - a3[1])[0]?.[0] ?? "assistant";
}
function markOf(atoms) {
  const marks = new Set(atoms.map(({ mark: mark2 }) => mark2 ?? null));
  if (marks.has("pinned")) return "pinned";
  const [mark = null] = marks;
  return marks.size === 1 ? mark : null;
}
function blocksOf(atoms, { first, end, room, faults }) {
  const perBlock = Math.max(1, Math.ceil((end - first) / Math.max(1, room)));
  const marks = faults.toSorted((a3, b) => a3 - b);
  let mark = 0;
  const blocks = [];
  for (let at = first; at < end; at += perBlock) {
    const own = atoms.slice(at, Math.min(end, at + perBlock));
    const from = own[0]?.from ?? 0;
    const to = own.at(-1)?.to ?? from;
    while ((marks[mark] ?? Infinity) < from) mark++;
    const before = mark;
    while ((marks[mark] ?? Infinity) < to) mark++;
    blocks.push({
      first: at,
      end: at + own.length,
      kind: kindOf(own),
      isOpen: own.some(({ state }) => state === "open"),
      tokens: own.reduce((sum, { tokens }) => sum + tokens, 0),
      faults: mark - before,
      from,
      mark: markOf(own)
    });
  }
  return blocks;
}
function sayBlock({ first, end, kind, isOpen, tokens, faults, from }, hasCut) {
  const what = end - first === 1 ? `${KIND_NAMES[kind]}, from message ${from}` : `${plural(end - first, "atom")}, from message ${from}; Enter opens them`;
  const words = [
    what,
    `about ${plural(tokens, "token")}`,
    ...isOpen ? [
      "open: a call has no result yet"
    ] : [],
    ...faults > 0 ? [
      plural(faults, "violation")
    ] : [],
    hasCut ? "a legal cut in front of it" : "no legal cut in front of it"
  ];
  return words.join(", ");
}
function isGone({ from, mark }, cutAt) {
  return cutAt !== null && from >= 0 && from < cutAt && mark !== "pinned";
}
function Strip({ label, atoms, first, end, cuts, faults, chosen, cutAt, onChoose, blockWidth = BLOCK_WIDTH, say = sayBlock }) {
  const bar = T2(null);
  const [room, setRoom] = d2(100);
  const [focused, setFocused] = d2(0);
  const [tip, setTip] = d2(null);
  A2(() => {
    const { current } = bar;
    if (current === null) return;
    const observer = new ResizeObserver(([entry]) => {
      setRoom(Math.max(1, Math.floor((entry?.contentRect.width ?? 900) / blockWidth)));
    });
    observer.observe(current);
    return () => observer.disconnect();
  }, []);
  const blocks = blocksOf(atoms, {
    first,
    end,
    room,
    faults
  });
  const perBlock = (blocks[0]?.end ?? 0) - (blocks[0]?.first ?? 0);
  const hint = perBlock > 1 ? `A block here stands for ${grouped(perBlock)} atoms: choose one to open it.` : "Point at a block, or go through them with the arrow keys; choose one to read it.";
  const reachable = Math.min(focused, blocks.length - 1);
  const move = (event, index) => {
    const last = blocks.length - 1;
    const to = {
      ArrowRight: Math.min(last, index + 1),
      ArrowLeft: Math.max(0, index - 1),
      Home: 0,
      End: last
    }[event.key];
    if (to === void 0) return;
    event.preventDefault();
    setFocused(to);
    bar.current?.children[to]?.focus();
  };
  return m2`
    <div class="strip">
      <div class="bar" role="toolbar" aria-label=${label} ref=${bar}>
        ${blocks.map((block, index) => {
    const hasCut = cuts.has(block.from);
    const said = say(block, hasCut);
    const isChosen = chosen !== null && chosen >= block.first && chosen < block.end;
    const classes = [
      "block",
      block.kind,
      ...block.isOpen ? [
        "open"
      ] : [],
      ...block.faults > 0 ? [
        "faulty"
      ] : [],
      ...block.mark === null ? [] : [
        block.mark
      ],
      ...hasCut ? [
        "cut"
      ] : [],
      ...isGone(block, cutAt) ? [
        "gone"
      ] : [],
      ...cutAt !== null && atoms[block.first]?.from === cutAt ? [
        "cut-here"
      ] : []
    ];
    return m2`
            <button type="button" key=${index} class=${classes.join(" ")} aria-label=${said}
              aria-pressed=${isChosen} tabindex=${index === reachable ? 0 : -1}
              style=${{
      flexGrow: Math.max(1, block.tokens)
    }}
              onClick=${() => {
      setFocused(index);
      onChoose(block);
    }}
              onKeyDown=${(event) => move(event, index)}
              onFocus=${() => setTip(said)} onBlur=${() => setTip(null)}
              onMouseEnter=${() => setTip(said)} onMouseLeave=${() => setTip(null)}></button>
          `;
  })}
      </div>
      <p class="tip" aria-hidden="true">${tip ?? hint}</p>
    </div>
  `;
}

var PART_NAMES = {
  tool_use: "call",
  tool_result: "result"
};
function Part({ part, isFaulty }) {
  const { kind, name, callId, text, hidden } = part;
  return m2`
    <div class=${`part ${kind}${isFaulty ? " faulty" : ""}`}>
      <p class="part-head"><span class="kind">${PART_NAMES[kind] ?? kind}</span>
            ${name && m2`
              <b>${name}</b>
            `}${callId && m2`
              <code>${callId}</code>
            `}</p>
      <pre tabindex="0" aria-label=${`Text of the ${PART_NAMES[kind] ?? kind}`}>${text === "" ? "(empty)" : text}${hidden > 0 ? ` \u2026 ${grouped(hidden)} more characters` : ""}</pre>
    </div>
  `;
}
function Atom({ atom, transcript, faults, ask, onClose }) {
  const { from, to, kind, state, tokens } = atom;
  const [shown, setShown] = d2(null);
  const [problem, setProblem] = d2(null);
  A2(() => {
    let isOver = false;
    ask({
      kind: "show",
      transcript,
      from,
      to
    }, "shown").then((found) => {
      if (!isOver) setShown(found);
    }, (error) => {
      if (!isOver) setProblem(error.message);
    });
    return () => {
      isOver = true;
    };
  }, [
    from,
    to,
    transcript
  ]);
  const own = faults.filter(({ at }) => at >= from && at < to);
  return m2`<article class="atom" aria-label="The chosen atom">
      <header><h4>${KIND_NAMES[kind]}${state === "open" ? ", open" : ""}</h4>
        <span class="facts">message${to - from === 1 ? ` ${from}` : `s ${from} to ${to - 1}`} · ≈ ${plural(tokens, "token")}</span>
        <button type="button" onClick=${onClose}>Close</button></header>
      ${problem !== null && m2`<p class="notice bad" role="alert">${problem}</p>`}
      ${shown?.messages.map(({ at, line, parts }) => {
    const wrong = own.filter((fault) => fault.at === at);
    return m2`<div class="message"><p class="where">message ${at}${line === null ? "" : ` \xB7 line ${line}`}</p>
          ${parts.map((part) => m2`<${Part} part=${part} isFaulty=${wrong.some(({ callId }) => callId !== null && callId === part.callId)} />`)}
          ${wrong.map(({ message }) => m2`<p class="wrong">${message}</p>`)}
        </div>`;
  })}
      ${shown !== null && shown.messages.length < to - from && m2`<p class="fine">and ${plural(to - from - shown.messages.length, "message")} more</p>`}
    </article>`;
}

var BEGUN_MS = 3e4;
function save({ name, blob }) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), BEGUN_MS);
}

var PAUSE_MS = 120;
var METHODS = {
  near: "the legal cut nearest to the budget",
  trim: "a legal cut further back, with old results shortened",
  forward: "the next legal cut further on",
  forced: "the best legal cut there is"
};
var REASONS = {
  open_call: "a call is still open, and no cut may pass it",
  atom_too_wide: "one atom alone is larger than the budget",
  pinned_too_big: "what must stay is larger than the budget",
  budget_too_small: "the summary alone would fill the budget"
};
var NOTHING = {
  within_budget: "It fits: there is nothing to compact.",
  within_lookback: "It is over the budget by no more than a cut may keep: there is nothing to compact.",
  too_little_to_gain: "The best cut would take away less than a tenth: there is nothing to compact."
};
function sayOutcome({ outcome, cut, pairs, trims, reason, nearest }) {
  if (outcome === "nothing") return NOTHING[reason ?? ""] ?? `There is nothing to compact: ${reason}.`;
  if (outcome === "applied" && cut !== null) {
    const moved = pairs === 1 ? "1 call with its result" : `${grouped(pairs)} calls with their results`;
    const trimmed = trims === 0 ? "" : `, ${plural(trims, "result")} shortened`;
    return `Cut in front of message ${cut.at}: ${METHODS[cut.method] ?? cut.method}. ${moved} moved into the summary${trimmed}.`;
  }
  const around = [
    nearest?.before,
    nearest?.after
  ].filter((at) => typeof at === "number").join(" and ");
  return `No cut at this budget: ${REASONS[reason ?? ""] ?? reason}.${around === "" ? "" : ` The nearest legal cuts are at message ${around}.`}`;
}
function Compaction({ findings, transcript, ask, onPreview }) {
  const { tokens } = findings;
  const [share, setShare] = d2(100);
  const [preview, setPreview] = d2(null);
  const [problem, setProblem] = d2(null);
  const turn = T2(0);
  const budget = Math.max(1, Math.round(tokens * share / 100));
  const show = (found) => {
    setPreview(found);
    onPreview(found);
  };
  A2(() => {
    const own = ++turn.current;
    if (share === 100) return show(null);
    const timer = setTimeout(() => {
      ask({
        kind: "preview",
        transcript,
        budget
      }, "preview").then((found) => {
        if (own !== turn.current) return;
        setProblem(null);
        show(found);
      }, (error) => {
        if (own === turn.current) setProblem(error.message);
      });
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [
    share,
    transcript
  ]);
  A2(() => () => onPreview(null), []);
  const download = async () => {
    try {
      save(await ask({
        kind: "write",
        transcript,
        budget
      }, "written"));
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  const before = Math.max(1, preview?.tokens.before ?? tokens);
  const after = preview?.tokens.after ?? before;
  const summary = preview?.outcome === "applied" ? preview.summaryTokens : 0;
  const percent = (part) => `${Math.min(100, part / before * 100)}%`;
  return m2`<section class="card" aria-labelledby="compact-title">
      <h3 id="compact-title">Compact</h3>
      <p class="lead">Choose how many tokens may stay. Everything in front of the cut becomes one summary that names
        every call; everything behind it stays as it is.</p>
      <div class="slider">
        <label for="budget">Budget</label>
        <input id="budget" type="range" min="2" max="100" step="1" value=${share}
          aria-valuetext=${`${grouped(budget)} tokens`}
          onInput=${(event) => setShare(Number(event.target.value))} />
        <output for="budget">≈ ${plural(budget, "token")}</output>
      </div>
      <div class="weigh" aria-hidden="true">
        <div class="scale before"><span>before</span><i style=${{
    width: "100%"
  }}></i></div>
        <div class="scale after"><span>after</span><i class="summary" style=${{
    width: percent(summary)
  }}></i><i
          style=${{
    width: percent(after - summary)
  }}></i></div>
      </div>
      <div aria-live="polite" class="outcome">
        ${preview === null ? m2`<p>Move the slider to see what a smaller budget would do.</p>` : m2`
      <p class=${preview.outcome}>${sayOutcome(preview)}</p>
      <p class="facts"><span>≈ ${grouped(preview.tokens.before)} → ${grouped(after)} tokens</span>
                  ${preview.tokens.before !== tokens && m2`<span>system messages left out</span>`}</p>
    `}
      </div>
      ${preview?.summary && m2`
      <details class="ledger">
        <summary>Read the summary</summary>
        <pre tabindex="0" aria-label="The summary">${preview.summary}</pre>
      </details>
    `}
      ${preview?.outcome === "applied" && m2`<p class="actions"><button type="button" class="main" onClick=${download}>Download the compacted
        file</button></p>`}
      ${problem !== null && m2`<p class="notice bad" role="alert">${problem}</p>`}
    </section>`;
}

var MARKS = [
  [
    "system",
    "system message"
  ],
  [
    "user",
    "user message"
  ],
  [
    "assistant",
    "assistant, with its calls and results"
  ],
  [
    "summary",
    "summary of an earlier compaction"
  ],
  [
    "stray",
    "result of no call"
  ],
  [
    "open",
    "open: a result is still to come"
  ]
];
function Legend({ atoms, hasFaults, hasCut }) {
  const has = new Set(atoms.flatMap(({ kind, state }) => [
    kind,
    state
  ]));
  return m2`<ul class="legend">
      ${MARKS.filter(([mark]) => has.has(mark)).map(([mark, name]) => m2`<li><span class=${`swatch ${mark}`}></span>${name}</li>`)}
      <li><span class="swatch tick"></span>legal cut</li>
      ${hasFaults && m2`<li><span class="swatch mark"></span>something is wrong</li>`}
      ${hasCut && m2`
      <li><span class="swatch cut-here"></span>cut of the compaction</li>
      <li><span class="swatch gone"></span>goes into the summary</li>
    `}
    </ul>`;
}

var CONDITIONS = {
  C1: "every call has exactly one result",
  C2: "every result has exactly one call",
  C3: "results follow their call directly",
  dialect: "a rule of the provider"
};
var FIRST_FAULTS = 8;
function Verdict({ name, findings }) {
  const { document: document2, faultCount, messages, calls, tokens, wrapper } = findings;
  return m2`
    <header class="verdict">
      <h2 class=${faultCount === 0 ? "good" : "bad"}>
        ${faultCount === 0 ? "Nothing is broken" : plural(faultCount, "violation")}</h2>
      <p class="facts"><span class="file">${name}</span> <span>${document2?.format}</span>
        <span>${plural(messages, "message")}</span> <span>${plural(calls, "call")}</span>
        <span title="Estimated: four characters a token">≈ ${plural(tokens, "token")}</span></p>
      ${wrapper !== null && m2`<p class="fine">A log: its messages were read from <code>${wrapper}</code>. A mended file
        holds the messages alone.</p>`}
    </header>
  `;
}
function sayChanges(count) {
  return `${plural(count, "change")}; every other message stays as it is, byte for byte. `;
}
function Results({ name, findings, transcript, ask }) {
  const { error, document: found, faults, faultCount, repairs, repairCount, left } = findings;
  const atoms = found?.atoms ?? [];
  const whole = {
    first: 0,
    end: atoms.length
  };
  const [ranges, setRanges] = d2([]);
  const [chosen, setChosen] = d2(null);
  const [isAll, setAll] = d2(false);
  const [preview, setPreview] = d2(null);
  const [problem, setProblem] = d2(null);
  const detail = T2(null);
  A2(() => {
    if (chosen !== null) detail.current?.scrollIntoView?.({
      block: "nearest"
    });
  }, [
    chosen
  ]);
  if (error !== null || found === null) {
    return m2`
      <div class="notice bad" role="alert">
        <h2>This transcript cannot be read</h2>
        <p>${error}</p>
      </div>
    `;
  }
  const range = ranges.at(-1) ?? whole;
  const cuts = new Set(found.legalCuts);
  const choose = ({ first, end }) => {
    if (end - first === 1) setChosen(first === chosen ? null : first);
    else setRanges([
      ...ranges,
      {
        first,
        end
      }
    ]);
  };
  const goTo = (message) => {
    const at = atoms.findIndex(({ from, to }) => message >= from && message < to);
    if (at < 0) return;
    if (atoms.length > 80) setRanges([
      {
        first: Math.max(0, at - 20),
        end: Math.min(atoms.length, at + 21)
      }
    ]);
    setChosen(at);
  };
  const download = async () => {
    try {
      save(await ask({
        kind: "write"
      }, "written"));
    } catch (failure) {
      setProblem(failure instanceof Error ? failure.message : String(failure));
    }
  };
  const listed = isAll ? faults : faults.slice(0, FIRST_FAULTS);
  const atom = chosen === null ? void 0 : atoms[chosen];
  return m2`
    <${Verdict} name=${name} findings=${findings} />
    <section class="card" aria-labelledby="drawing-title">
      <h3 id="drawing-title">The transcript, from left to right</h3>
      <p class="lead">Each block is an <b>atom</b>: messages that must stay together, such as an answer with its tool
        calls and their results. It may only be cut where a <b>tick</b> hangs below: there no call loses its result.</p>
      ${ranges.length > 0 && m2`<p class="crumbs"><button type="button" onClick=${() => setRanges([])}>Whole
        transcript</button> <span>${`atoms ${grouped(range.first + 1)} to ${grouped(range.end)} of ${grouped(atoms.length)}`}</span></p>`}
      <${Strip} label="Atoms of the transcript" atoms=${atoms} first=${range.first} end=${range.end} cuts=${cuts}
        faults=${faults.map(({ at }) => at)} chosen=${chosen} cutAt=${preview?.cut?.at ?? null} onChoose=${choose} />
      <${Legend} atoms=${atoms} hasFaults=${faultCount > 0}
        hasCut=${preview?.cut != null} />
      <div ref=${detail}>${atom !== void 0 && m2`
        <${Atom} key=${chosen} atom=${atom} transcript=${transcript} faults=${faults}
          ask=${ask} onClose=${() => setChosen(null)} />
      `}</div>
    </section>
    ${faultCount > 0 && m2`<section class="card" aria-labelledby="faults-title">
      <h3 id="faults-title">What is wrong</h3>
      <ol class="faults">
        ${listed.map((fault) => m2`<li><button type="button" class="fault" onClick=${() => goTo(fault.at)}>
          <span class="where">message ${fault.at}${fault.line === null ? "" : ` \xB7 line ${fault.line}`}</span>
          <span class="what">${fault.message}</span>
          <span class="why"><code>${fault.code}</code> ${fault.condition}: ${CONDITIONS[fault.condition]}</span>
        </button></li>`)}
      </ol>
      ${faultCount > listed.length && m2`<p class="fine">${!isAll && faults.length > FIRST_FAULTS ? m2`<button type="button" onClick=${() => setAll(true)}>Show ${grouped(faults.length)}</button>` : null} ${grouped(faultCount)} in all${faultCount > faults.length ? "; the command lists every one" : ""}.</p>`}
    </section>`}
    <section class="card" aria-labelledby="repair-title">
      <h3 id="repair-title">Repair</h3>
      ${repairCount === 0 ? m2`<p class="lead">There is nothing to repair.</p>` : m2`
        <p class="lead">${sayChanges(repairCount)}${left > 0 ? m2`<b>${plural(left, "violation")} would be left.</b>` : "Nothing is wrong after it."}</p>
                <ol class="repairs">${repairs.slice(0, 40).map(({ at, message }) => m2`<li><span class="where">message ${at}</span> ${message}</li>`)}</ol>
                ${repairCount > 40 && m2`<p class="fine">and ${grouped(repairCount - 40)} more</p>`}
                <p
          class="actions"><button type="button" class="main" onClick=${download}>Download the repaired file</button></p>
      `}
      ${problem !== null && m2`<p class="notice bad" role="alert">${problem}</p>`}
    </section>
    <${Compaction} findings=${findings} transcript=${transcript} ask=${ask} onPreview=${setPreview} />
  `;
}

function firstOf({ transcripts }) {
  return Math.max(0, transcripts.findIndex(({ error, faultCount }) => error !== null || faultCount > 0));
}
function sayFound({ error, faultCount, messages }) {
  if (error !== null) return "cannot be read";
  return `${plural(messages, "message")}, ${faultCount === 0 ? "valid" : plural(faultCount, "violation")}`;
}
function Doctor({ ask, isLost }) {
  const [state, setState] = d2({
    kind: "empty"
  });
  const [transcript, setTranscript] = d2(0);
  const turn = T2(0);
  const result2 = T2(null);
  const open = async (name, source) => {
    const own = ++turn.current;
    setState({
      kind: "reading",
      name
    });
    let next;
    try {
      next = {
        kind: "open",
        opened: await ask({
          kind: "open",
          name,
          source
        }, "opened")
      };
    } catch (error) {
      next = {
        kind: "failed",
        message: error instanceof Error ? error.message : String(error)
      };
    }
    if (own !== turn.current) return;
    setTranscript(next.kind === "open" ? firstOf(next.opened) : 0);
    setState(next);
  };
  A2(() => {
    if (state.kind === "open" || state.kind === "failed") {
      result2.current?.focus({
        preventScroll: true
      });
      result2.current?.scrollIntoView({
        block: "start"
      });
    }
  }, [
    state
  ]);
  const findings = state.kind === "open" ? state.opened.transcripts[transcript] : void 0;
  return m2`
    ${isLost && m2`<p class="notice bad" role="alert">The part of this page that reads transcripts could not be
      loaded: the server is away, or the tab ran out of memory. Reload the page to try again.</p>`}
    <${Intake} isCompact=${state.kind === "open"} isBusy=${state.kind === "reading"} onOpen=${open}
      onExample=${() => open("broken-example.json", BROKEN_EXAMPLE)} />
    <section class="result" tabindex="-1" ref=${result2} aria-live="polite" aria-label="What was found">
      ${state.kind === "reading" && m2`<p class="notice" role="status">Reading ${state.name} …</p>`}
      ${state.kind === "failed" && m2`
        <div class="notice bad" role="alert">
          <h2>This could not be read</h2>
          <p>${state.message}</p>
        </div>
      `}
      ${state.kind === "open" && state.opened.transcripts.length > 1 && m2`<label class="picker">
        ${grouped(state.opened.transcripts.length)} transcripts in this file
        <select value=${transcript} onChange=${(event) => setTranscript(Number(event.target.value))}>
          ${state.opened.transcripts.map((found, index) => m2`<option value=${index}>${index + 1}: ${sayFound(found)}</option>`)}
        </select></label>`}
      ${state.kind === "open" && findings && m2`
        <${Results} key=${`${turn.current}.${transcript}`}
          name=${state.opened.name} findings=${findings} transcript=${transcript} ask=${ask} />
      `}
    </section>
  `;
}
var root = document.querySelector("#doctor");
if (root !== null) {
  let isLost = false;
  const draw = () => Q(m2`<${Doctor} ask=${ask} isLost=${isLost} />`, root);
  const ask = startWorker(() => {
    isLost = true;
    draw();
  });
  root.textContent = "";
  draw();
}
