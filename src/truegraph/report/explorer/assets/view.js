// Drawing by WebGL: dots and lines in the plane, moved and scaled by a camera.
const drawing = document.getElementById("drawing"), overlay = document.getElementById("overlay");

const DOT_VERTEX = `#version 300 es
in vec2 place; in vec4 colour; in float size; in float shape;
uniform vec2 middle, half_; uniform float scale, ratio;
out vec4 ink; flat out float form; flat out float extent;
void main() {
  gl_Position = vec4((place - middle) * scale / half_, 0, 1);
  extent = size * ratio + 2.0; gl_PointSize = extent; ink = colour; form = shape;
}`;
// Forms: 0 circle, 1 square, 2 triangle, 3 diamond, 4 cross, 5 X, 6 ring, 7 triangle downwards.
const DOT_FRAGMENT = `#version 300 es
precision highp float;
in vec4 ink; flat in float form; flat in float extent;
uniform vec3 rim; out vec4 result;
float distanceTo(vec2 p) {
  int kind = int(form + 0.5);
  if (kind == 1) return max(abs(p.x), abs(p.y)) - 0.78;
  if (kind == 2 || kind == 7) {
    if (kind == 7) p.y = -p.y;
    return max(p.y - 0.7, 0.894 * abs(p.x) - 0.447 * p.y - 0.5);
  }
  if (kind == 3) return (abs(p.x) + abs(p.y) - 1.0) * 0.8;
  if (kind == 4) return min(max(abs(p.x) - 0.32, abs(p.y) - 0.95), max(abs(p.y) - 0.32, abs(p.x) - 0.95));
  if (kind == 5) {
    p = vec2(p.x + p.y, p.x - p.y) * 0.7071;
    return min(max(abs(p.x) - 0.3, abs(p.y) - 1.0), max(abs(p.y) - 0.3, abs(p.x) - 1.0));
  }
  if (kind == 6) return abs(length(p) - 0.7) - 0.25;
  return length(p) - 0.9;
}
void main() {
  float unit = 2.0 / extent, d = distanceTo((gl_PointCoord * 2.0 - 1.0) * (extent / (extent - 2.0)));
  float inside = 1.0 - smoothstep(-unit, unit, d);
  if (inside <= 0.0) discard;
  // thin forms keep all their ink
  float isFull = form < 3.5 || form > 6.5 ? 1.0 : 0.0;
  float border = smoothstep(-2.0 * unit, -0.8 * unit, d) * step(7.0, extent) * 0.6 * isFull;
  result = vec4(mix(ink.rgb, rim, border), ink.a * inside);
}`;
const LINE_VERTEX = `#version 300 es
in vec2 from_, to_; in vec4 colour; in float width, dash;
uniform vec2 middle, half_; uniform float scale, ratio;
out vec4 ink; out float along; flat out float broken;
void main() {
  vec2 a = (from_ - middle) * scale, b = (to_ - middle) * scale, way = b - a;
  float far = max(length(way), 1e-4); vec2 side = vec2(-way.y, way.x) / far;
  float end = float(gl_VertexID & 1), hand = float((gl_VertexID >> 1) & 1) * 2.0 - 1.0;
  vec2 at = mix(a, b, end) + side * hand * max(width * ratio, 1.0) * 0.5;
  gl_Position = vec4(at / half_, 0, 1); ink = colour; along = far * end / ratio; broken = dash;
}`;
const LINE_FRAGMENT = `#version 300 es
precision highp float;
in vec4 ink; in float along; flat in float broken; out vec4 result;
void main() {
  if (broken > 0.5 && mod(along, 9.0) > 5.0) discard;
  result = ink;
}`;

function compiled(gl, vertex, fragment) {
  const program = gl.createProgram();
  for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program));
  return program;
}

// A buffer of interleaved 32-bit values; colours are four bytes in one of them.
function attributes(gl, program, layout) {
  const array = gl.createVertexArray(), buffer = gl.createBuffer();
  const stride = 4 * layout.reduce((sum, [, size, isColour]) => sum + (isColour ? 1 : size), 0);
  gl.bindVertexArray(array);
  gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
  let offset = 0;
  for (const [name, size, isColour] of layout) {
    const place = gl.getAttribLocation(program, name);
    gl.enableVertexAttribArray(place);
    gl.vertexAttribPointer(place, size, isColour ? gl.UNSIGNED_BYTE : gl.FLOAT, !!isColour, stride, offset);
    offset += isColour ? 4 : 4 * size;
  }
  return {array, buffer, stride, count: 0};
}

const camera = {x: 0, y: 0, scale: 1};

class View {
  constructor() {
    this.gl = drawing.getContext("webgl2", {antialias: true});
    this.brush = overlay.getContext("2d");
    this.paintOver = () => {};
    if (!this.gl) { document.getElementById("no-drawing").hidden = false; return; }
    const gl = this.gl;
    this.dotProgram = compiled(gl, DOT_VERTEX, DOT_FRAGMENT);
    this.lineProgram = compiled(gl, LINE_VERTEX, LINE_FRAGMENT);
    this.dots = attributes(gl, this.dotProgram, [["place", 2], ["colour", 4, true], ["size", 1], ["shape", 1]]);
    this.lines = attributes(gl, this.lineProgram,
      [["from_", 2], ["to_", 2], ["colour", 4, true], ["width", 1], ["dash", 1]]);
    this.corners = gl.createBuffer();
    gl.enable(gl.BLEND);
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  fill(part, values, number) {
    if (!this.gl) return;
    this.gl.bindBuffer(this.gl.ARRAY_BUFFER, part.buffer);
    this.gl.bufferData(this.gl.ARRAY_BUFFER, values, this.gl.DYNAMIC_DRAW);
    part.count = number;
  }

  // dots: {node, colour (4 bytes), size in pixels, shape}
  setDots(dots) {
    const values = new Float32Array(5 * dots.length), bytes = new Uint8Array(values.buffer);
    dots.forEach(({node, colour, size, shape}, at) => {
      values[5 * at] = places[2 * node];
      values[5 * at + 1] = places[2 * node + 1];
      bytes.set(colour, 20 * at + 8);
      values[5 * at + 3] = size;
      values[5 * at + 4] = shape;
    });
    this.fill(this.dots ?? {}, values, dots.length);
  }

  // lines: {edge, colour (4 bytes), width in pixels, whether it is broken}; four corners each.
  // Not as instances, which drawing without a graphics card takes one by one: 30 s for 50,000.
  setLines(lines) {
    const values = new Float32Array(28 * lines.length), bytes = new Uint8Array(values.buffer);
    const corners = new Uint32Array(6 * lines.length);
    lines.forEach(({edge, colour, width, dash}, at) => {
      const a = edges.source[edge], b = edges.target[edge], first = 28 * at;
      values.set([places[2 * a], places[2 * a + 1], places[2 * b], places[2 * b + 1]], first);
      bytes.set(colour, 4 * first + 16);
      values[first + 5] = width;
      values[first + 6] = dash ? 1 : 0;
      for (let corner = 1; corner < 4; corner++) values.copyWithin(first + 7 * corner, first, first + 7);
      corners.set([4 * at, 4 * at + 1, 4 * at + 2, 4 * at + 2, 4 * at + 1, 4 * at + 3], 6 * at);
    });
    this.fill(this.lines ?? {}, values, 6 * lines.length);
    if (!this.gl) return;
    this.gl.bindVertexArray(this.lines.array);
    this.gl.bindBuffer(this.gl.ELEMENT_ARRAY_BUFFER, this.corners);
    this.gl.bufferData(this.gl.ELEMENT_ARRAY_BUFFER, corners, this.gl.DYNAMIC_DRAW);
  }

  size() {
    const box = drawing.getBoundingClientRect();
    return {width: Math.max(box.width, 1), height: Math.max(box.height, 1)};
  }

  request() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.draw(); });
  }

  draw() {
    const {width, height} = this.size(), ratio = window.devicePixelRatio || 1;
    for (const canvas of [drawing, overlay]) {
      const wide = Math.round(width * ratio), high = Math.round(height * ratio);
      if (canvas.width !== wide || canvas.height !== high) { canvas.width = wide; canvas.height = high; }
    }
    this.brush.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.brush.clearRect(0, 0, width, height);
    const gl = this.gl;
    if (gl) {
      gl.viewport(0, 0, drawing.width, drawing.height);
      gl.clearColor(0, 0, 0, 0);
      gl.clear(gl.COLOR_BUFFER_BIT);
      for (const [program, part] of [[this.lineProgram, this.lines], [this.dotProgram, this.dots]]) {
        gl.useProgram(program);
        gl.bindVertexArray(part.array);
        const set = name => gl.getUniformLocation(program, name);
        gl.uniform2f(set("middle"), camera.x, camera.y);
        gl.uniform2f(set("half_"), drawing.width / 2, drawing.height / 2);
        gl.uniform1f(set("scale"), camera.scale * ratio);
        gl.uniform1f(set("ratio"), ratio);
        if (part === this.dots) {
          gl.uniform3fv(set("rim"), this.rim ?? [0, 0, 0]);
          gl.drawArrays(gl.POINTS, 0, part.count);
        } else {
          gl.drawElements(gl.TRIANGLES, part.count, gl.UNSIGNED_INT, 0);
        }
      }
    }
    this.paintOver(this.brush);
  }

  toScreen(node) {
    const {width, height} = this.size();
    return [(places[2 * node] - camera.x) * camera.scale + width / 2,
      height / 2 - (places[2 * node + 1] - camera.y) * camera.scale];
  }

  toPlane(x, y) {
    const {width, height} = this.size();
    return [camera.x + (x - width / 2) / camera.scale, camera.y + (height / 2 - y) / camera.scale];
  }

  nearest(x, y, within) {
    const [px, py] = this.toPlane(x, y);
    let best = -1, least = (within / camera.scale) ** 2;
    for (let node = 0; node < count; node++) {
      const square = (places[2 * node] - px) ** 2 + (places[2 * node + 1] - py) ** 2;
      if (square < least) { least = square; best = node; }
    }
    return best;
  }

  fit(nodes) {
    let [left, right, low, high] = [Infinity, -Infinity, Infinity, -Infinity];
    const all = nodes ?? Array.from({length: count}, (_, node) => node);
    for (const node of all) {
      left = Math.min(left, places[2 * node]); right = Math.max(right, places[2 * node]);
      low = Math.min(low, places[2 * node + 1]); high = Math.max(high, places[2 * node + 1]);
    }
    const {width, height} = this.size();
    camera.x = (left + right) / 2;
    camera.y = (low + high) / 2;
    camera.scale = 0.92 * Math.min(width / Math.max(right - left, 1e-3), height / Math.max(high - low, 1e-3));
    if (nodes) camera.scale = Math.min(camera.scale, 80);
    this.request();
  }

  zoom(factor, x, y) {
    const before = this.toPlane(x, y);
    camera.scale = Math.min(Math.max(camera.scale * factor, 1e-3), 1e5);
    const after = this.toPlane(x, y);
    camera.x += before[0] - after[0];
    camera.y += before[1] - after[1];
    this.request();
  }
}
